// A model for simulation of the multiplexer behind two look-up tables of Lattice's ECP5 (FPGA-TN-02200).
// Synthesis needs no part of it.
module PFUMX (
    input ALUT, BLUT, C0,
    output Z
);
    assign Z = C0 ? ALUT : BLUT;
endmodule
