"""The Verilog of a design in Verilator: simulators, and the benches that drive them."""
