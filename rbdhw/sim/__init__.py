"""Judges of the generated hardware: the golden model and the simulation benches."""
