"""The checks of notebooks 01 to 10, a module for each. `check.NAME` finds them here."""
