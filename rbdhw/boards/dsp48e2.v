// The delays of AMD's block for Yosys' mapping of logic, which knows none: 3.4 times the figures of rbdhw/timing, with 215 ps
// at each end for the way to a column of blocks. A look-up table of 7 series with a wire of 2000 ps takes 2.8 times what one
// of UltraScale+ takes there. That products take a fifth more keeps logic in rows of them shallow. The wire between two blocks
// of a cascade, 1360 ps for this mapping, takes no time and is left out. Without the delays logic in front of a product and
// behind it counts as apart.
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
    parameter [47:0] RND = 0;
    parameter A_INPUT = "DIRECT", B_INPUT = "DIRECT", AMULTSEL = "A", BMULTSEL = "B", PREADDINSEL = "A";
    parameter USE_MULT = "MULTIPLY", USE_SIMD = "ONE48", USE_PATTERN_DETECT = "NO_PATDET";
    generate
        if (AMULTSEL == "AD")  // without registers
            specify (A *> P) = 6208; (A *> PCOUT) = 5939; (D *> P) = 6208; (D *> PCOUT) = 5939; endspecify
        else if (AREG == 0 && MREG == 0 && PREG == 0)
            specify (A *> P) = 6208; (A *> PCOUT) = 5939; endspecify
        else
            specify $setup(A, posedge CLK, AREG != 0 ? 1000 : MREG != 0 ? 3113 : 5519); endspecify
        if (BREG == 0 && MREG == 0 && PREG == 0)
            specify (B *> P) = 5968; (B *> PCOUT) = 5698; endspecify
        else
            specify $setup(B, posedge CLK, BREG != 0 ? 1126 : MREG != 0 ? 2875 : 5281); endspecify
        if (CREG == 0 && PREG == 0)
            specify (C *> P) = 3484; (C *> PCOUT) = 3218; endspecify
        else
            specify $setup(C, posedge CLK, CREG != 0 ? 843 : 2800); endspecify
        if (PREG == 0)
            specify (PCIN *> P) = 1190; (PCIN *> PCOUT) = 922; endspecify
        else
            specify $setup(PCIN, posedge CLK, 505); endspecify
        if (AREG != 0 || MREG != 0 || PREG != 0)
            specify (posedge CLK => (P : 48'bx)) = PREG != 0 ? 1136 : MREG != 0 ? 3577 : 5909; endspecify
        if (AREG != 0 || MREG != 0 || PREG != 0)
            specify (posedge CLK => (PCOUT : 48'bx)) = PREG != 0 ? 792 : MREG != 0 ? 3308 : 5634; endspecify
    endgenerate
endmodule
