"""Software targets: C from the bit-exact program, and C from the graph in floating point."""
