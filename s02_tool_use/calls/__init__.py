"""What run_tool (dispatch.py) stands on: what a tool is, do the arguments fit, what came back as content."""
