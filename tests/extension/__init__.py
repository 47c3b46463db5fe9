"""What somebody else's package would hold: one file for each thing that can be added.
Nothing in here is known to sparserank."""
