"""Verification of the generated hardware: the simulation benches and their reports."""
