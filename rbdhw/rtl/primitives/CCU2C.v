// A model for simulation of the carry cell of Lattice's ECP5 (FPGA-TN-02200): in each half a look-up table,
// whose lower half says what is carried. Synthesis needs no part of it.
module CCU2C #(
    parameter [15:0] INIT0 = 16'h0000,
    parameter [15:0] INIT1 = 16'h0000,
    parameter INJECT1_0 = "NO",
    parameter INJECT1_1 = "NO"
) (
    input CIN, A0, B0, C0, D0, A1, B1, C1, D1,
    output S0, S1, COUT
);
    wire propagate_0 = INIT0[{D0, C0, B0, A0}];
    wire propagate_1 = INIT1[{D1, C1, B1, A1}];
    wire generate_0 = INIT0[{2'b00, B0, A0}];
    wire generate_1 = INIT1[{2'b00, B1, A1}];
    wire carry = propagate_0 ? CIN : generate_0;
    assign S0 = propagate_0 ^ CIN;
    assign S1 = propagate_1 ^ carry;
    assign COUT = propagate_1 ? carry : generate_1;

    initial
        if (INJECT1_0 != "NO" || INJECT1_1 != "NO")
            $fatal(1, "CCU2C: the model knows no other carry than that of the cell before");
endmodule
