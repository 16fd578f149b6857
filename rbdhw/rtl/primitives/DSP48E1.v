// A model for simulation of the DSP block of AMD's 7 series, as far as rbdhw uses it (UG479): P = C + A B or C - A B
// with one register of the operands, the product and the result each, or none; no cascades. In place of A, D + A or D - A
// without registers.
// Synthesis needs no part of it.
module DSP48E1 #(
    parameter integer AREG = 1,
    parameter integer ACASCREG = 1,
    parameter integer BREG = 1,
    parameter integer BCASCREG = 1,
    parameter integer CREG = 1,
    parameter integer DREG = 1,
    parameter integer ADREG = 1,
    parameter integer MREG = 1,
    parameter integer PREG = 1,
    parameter integer ALUMODEREG = 1,
    parameter integer CARRYINREG = 1,
    parameter integer CARRYINSELREG = 1,
    parameter integer INMODEREG = 1,
    parameter integer OPMODEREG = 1,
    parameter A_INPUT = "DIRECT",
    parameter B_INPUT = "DIRECT",
    parameter USE_DPORT = "FALSE",
    parameter USE_MULT = "MULTIPLY",
    parameter USE_PATTERN_DETECT = "NO_PATDET",
    parameter USE_SIMD = "ONE48"
) (
    input CLK,
    input [29:0] A,
    input [17:0] B,
    input [47:0] C,
    input [24:0] D,
    input [6:0] OPMODE,
    input [3:0] ALUMODE,
    input [4:0] INMODE,
    input CARRYIN,
    input [2:0] CARRYINSEL,
    input CEA1, CEA2, CEB1, CEB2, CEC, CED, CEAD, CEM, CEP,
    input CEALUMODE, CECARRYIN, CECTRL, CEINMODE,
    input RSTA, RSTB, RSTC, RSTD, RSTM, RSTP, RSTALLCARRYIN, RSTALUMODE, RSTCTRL, RSTINMODE,
    output [47:0] P
);
    reg signed [24:0] a_register;
    reg signed [17:0] b_register;
    reg signed [42:0] product_register;
    reg [47:0] result_register;
    wire signed [24:0] a = AREG != 0 ? a_register : A[24:0];
    wire signed [17:0] b = BREG != 0 ? b_register : B;
    wire signed [24:0] factor = INMODE[2] ? (INMODE[3] ? D - a : D + a) : a;
    wire signed [42:0] product = factor * b;
    wire signed [42:0] x_and_y = MREG != 0 ? product_register : product;
    wire signed [47:0] extended = x_and_y;
    wire [47:0] result = ALUMODE[0] ? C - extended : C + extended;
    assign P = PREG != 0 ? result_register : result;

    always @(posedge CLK) begin
        if (RSTA) a_register <= 0;
        else if (CEA2) a_register <= A[24:0];
        if (RSTB) b_register <= 0;
        else if (CEB2) b_register <= B;
        if (RSTM) product_register <= 0;
        else if (CEM) product_register <= product;
        if (RSTP) result_register <= 0;
        else if (CEP) result_register <= result;
        if (OPMODE != 7'b0110101 || ALUMODE != 0 && ALUMODE != 4'b0011 || INMODE[4] || INMODE[1:0] != 0
            || INMODE[2] != (USE_DPORT == "TRUE") || INMODE[3] && !INMODE[2] || CARRYIN || CARRYINSEL != 0)
            $fatal(1, "DSP48E1: the model knows no other operation than C + A B and C - A B, D + A and D - A for A");
    end

    initial
        if (AREG > 1 || BREG > 1 || CREG != 0 || DREG != 0 || ADREG != 0 || A_INPUT != "DIRECT" || B_INPUT != "DIRECT"
            || USE_MULT != "MULTIPLY" || USE_SIMD != "ONE48")
            $fatal(1, "DSP48E1: the model knows one register of A and B, none of C and D, and one product");
endmodule
