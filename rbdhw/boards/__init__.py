"""FPGA boards: platforms, the shells around the accelerator, and vendor flows."""
