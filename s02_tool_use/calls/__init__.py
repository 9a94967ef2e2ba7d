"""What run_tool (dispatch.py) stands on: do the arguments fit."""
