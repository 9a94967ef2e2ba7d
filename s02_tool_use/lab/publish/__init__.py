"""What makes pages of the course for people without it: each module here is a command."""
