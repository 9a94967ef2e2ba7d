"""What run_bash (shell.py) stands on: where a command runs, what it said, and the end of all that it started."""
