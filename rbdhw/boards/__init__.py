"""FPGA boards: platforms, the shells around the accelerator, and the tool flows."""
