// The delays of AMD's block for Yosys' mapping of logic, which knows none: those of DSP48E1 (cells_sim.v), as all others
// of synth_xilinx are of 7 series. Without them logic in front of a product and behind it counts as apart.
(* abc9_box = !(AREG || BREG || CREG || MREG || PREG) *)
module DSP48E2 (
    input CLK, CARRYIN, CARRYCASCIN, MULTSIGNIN,
    input CEA1, CEA2, CEAD, CEALUMODE, CEB1, CEB2, CEC, CECARRYIN, CECTRL, CED, CEINMODE, CEM, CEP,
    input RSTA, RSTALLCARRYIN, RSTALUMODE, RSTB, RSTC, RSTCTRL, RSTD, RSTINMODE, RSTM, RSTP,
    input [2:0] CARRYINSEL,
    input [3:0] ALUMODE,
    input [4:0] INMODE,
    input [8:0] OPMODE,
    input [17:0] B, BCIN,
    input [26:0] D,
    input [29:0] A, ACIN,
    input [47:0] C, PCIN,
    output [47:0] P, PCOUT
);
    parameter integer AREG = 1, BREG = 1, CREG = 1, DREG = 1, ADREG = 1, MREG = 1, PREG = 1;
    parameter integer ACASCREG = 1, BCASCREG = 1, ALUMODEREG = 1, CARRYINREG = 1, CARRYINSELREG = 1;
    parameter integer INMODEREG = 1, OPMODEREG = 1;
    parameter A_INPUT = "DIRECT", B_INPUT = "DIRECT", AMULTSEL = "A", BMULTSEL = "B", PREADDINSEL = "A";
    parameter USE_MULT = "MULTIPLY", USE_SIMD = "ONE48", USE_PATTERN_DETECT = "NO_PATDET";
    generate
        if (AREG == 0 && MREG == 0 && PREG == 0)
            specify (A *> P) = 2823; (A *> PCOUT) = 2970; endspecify
        else
            specify $setup(A, posedge CLK, AREG != 0 ? 254 : MREG != 0 ? 1416 : 2739); endspecify
        if (BREG == 0 && MREG == 0 && PREG == 0)
            specify (B *> P) = 2690; (B *> PCOUT) = 2838; endspecify
        else
            specify $setup(B, posedge CLK, BREG != 0 ? 324 : MREG != 0 ? 1285 : 2608); endspecify
        if (CREG == 0 && PREG == 0)
            specify (C *> P) = 1325; (C *> PCOUT) = 1474; endspecify
        else
            specify $setup(C, posedge CLK, CREG != 0 ? 168 : 1244); endspecify
        if (PREG == 0)
            specify (PCIN *> P) = 1107; (PCIN *> PCOUT) = 1255; endspecify
        else
            specify $setup(PCIN, posedge CLK, 1025); endspecify
        if (AREG != 0 || MREG != 0 || PREG != 0)
            specify (posedge CLK => (P : 48'bx)) = PREG != 0 ? 329 : MREG != 0 ? 1671 : 2952; endspecify
        if (AREG != 0 || MREG != 0 || PREG != 0)
            specify (posedge CLK => (PCOUT : 48'bx)) = PREG != 0 ? 435 : MREG != 0 ? 1819 : 3098; endspecify
    endgenerate
endmodule
