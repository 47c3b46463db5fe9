"""Sizes shared by the sweeps of losses and their callers. They are compiled into kernels."""

AT_ONCE = 4  # number of levels that a scan keeps in registers
# number of scratch rows of a sweep; each is at least as long as the list, and longer than the number of levels
WORK_ROWS = 16
