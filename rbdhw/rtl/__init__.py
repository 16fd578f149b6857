"""Amaranth: one region, one submodule; trigonometry, delay lines, streams, top; Verilog."""
