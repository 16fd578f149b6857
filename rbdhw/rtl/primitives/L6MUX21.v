// A model for simulation of the multiplexer behind two others of Lattice's ECP5 (FPGA-TN-02200).
// Synthesis needs no part of it.
module L6MUX21 (
    input D0, D1, SD,
    output Z
);
    assign Z = SD ? D1 : D0;
endmodule
