"""The core of a sweep back through the knots of a horizon."""
