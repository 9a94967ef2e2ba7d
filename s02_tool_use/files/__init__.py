"""What the file tools and the workspace stand on: paths as text, one file opened and replaced, edits, patterns."""
