// A model for simulation of a look-up table of Lattice's ECP5 (FPGA-TN-02200). Synthesis needs no part of it.
module LUT4 #(
    parameter INIT = 16'h0000
) (
    input A, B, C, D,
    output Z
);
    localparam [15:0] TABLE = INIT;
    assign Z = TABLE[{D, C, B, A}];
endmodule
