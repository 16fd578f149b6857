"""Generated folders as Python objects."""
