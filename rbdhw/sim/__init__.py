"""Verification of the generated hardware: the bit-exact model, the simulation benches and diagnosis."""
