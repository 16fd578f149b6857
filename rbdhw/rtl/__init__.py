"""The hardware in Amaranth: cores with a submodule per region, the packet interface, the Verilog writer."""
