"""What normalize_messages (messages.py) stands on: blocks, fields, ids, turns."""
