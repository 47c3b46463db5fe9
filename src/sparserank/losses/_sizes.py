"""Sizes shared by the sweeps of losses and their callers. They are compiled into kernels."""

AT_ONCE = 4  # levels that a scan has in registers
WORK_ROWS = 16  # scratch rows of a sweep, each at least as long as the list and one more than there are levels
