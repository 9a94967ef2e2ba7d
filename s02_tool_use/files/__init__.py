"""What the file tools (tools.py) and the workspace stand on: one file opened and replaced, edits, patterns, Windows
names.
"""
