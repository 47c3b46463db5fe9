"""What people see of a result: the screen, the page and their tables and pictures."""
