"""What retrievers returned: runs cut at one depth, their scores and ranks as features of a data set."""
