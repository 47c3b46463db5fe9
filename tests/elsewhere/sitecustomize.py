"""Takes away what Windows does not have, in every process that starts with this folder on PYTHONPATH."""

import os
import signal
import sys

for module in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[module] = None  # type: ignore[assignment]
GONE = (
    "fchmod fchown fork forkpty killpg lockf mkfifo nice posix_spawn pread pwrite register_at_fork sched_getaffinity "
    "sched_setaffinity setsid statvfs O_NOFOLLOW O_NONBLOCK"
)
for gone in GONE.split():
    if hasattr(os, gone):
        delattr(os, gone)
for name in ("SIGHUP", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD"):
    if hasattr(signal, name):
        delattr(signal, name)
