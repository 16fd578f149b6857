// A model for simulation of the look-up table of Lattice's ECP5 (FPGA-TN-02200): the bit of INIT that the
// inputs choose. Synthesis needs no part of it.
module LUT4 #(
    parameter [15:0] INIT = 16'h0000
) (
    input A, B, C, D,
    output Z
);
    assign Z = INIT[{D, C, B, A}];
endmodule
