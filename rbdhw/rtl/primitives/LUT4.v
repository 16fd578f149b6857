// A model for simulation of the look-up table of Lattice's ECP5 (FPGA-TN-02200): the bit of INIT that the
// inputs choose. An unknown input makes the output unknown only if the output depends on it. Synthesis needs
// no part of it.
module LUT4 #(
    parameter [15:0] INIT = 16'h0000
) (
    input A, B, C, D,
    output Z
);
    wire [7:0] by_d = D ? INIT[15:8] : INIT[7:0];
    wire [3:0] by_c = C ? by_d[7:4] : by_d[3:0];
    wire [1:0] by_b = B ? by_c[3:2] : by_c[1:0];
    assign Z = A ? by_b[1] : by_b[0];
endmodule
