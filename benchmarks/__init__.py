"""Measures the tables of the documentation. It is not installed: ``python -m benchmarks`` from a checkout."""
