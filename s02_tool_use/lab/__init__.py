"""The apparatus of the course: what notebooks and tests use, and what no lesson module imports."""
