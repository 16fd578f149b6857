"""Simulation of random tasks: the Verilog beside the bit-exact model and the golden model."""
