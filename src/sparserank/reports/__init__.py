"""What a run leaves behind: files for programs, a page for people."""
