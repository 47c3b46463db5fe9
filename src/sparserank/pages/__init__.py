"""What people see of a result: pages, their tables and pictures."""
