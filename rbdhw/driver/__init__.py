"""The driver in C: its sources, the description of a design for it, and its library for Python."""
