// The delays of AMD's block for Yosys' mapping of logic, which knows none. Those of its other cells are of 7 series, some 2.5
// times those of UltraScale+, so these are 2.5 times the figures of rbdhw/timing, with 158 ps at each end for the way to a
// column of blocks. The wire between two blocks of a cascade, 1000 ps for this mapping, takes no time and is left out.
// Without them logic in front of a product and behind it counts as apart.
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
            specify (A *> P) = 4565; (A *> PCOUT) = 4367; endspecify
        else
            specify $setup(A, posedge CLK, AREG != 0 ? 735 : MREG != 0 ? 2289 : 4058); endspecify
        if (BREG == 0 && MREG == 0 && PREG == 0)
            specify (B *> P) = 4388; (B *> PCOUT) = 4190; endspecify
        else
            specify $setup(B, posedge CLK, BREG != 0 ? 828 : MREG != 0 ? 2114 : 3883); endspecify
        if (CREG == 0 && PREG == 0)
            specify (C *> P) = 2562; (C *> PCOUT) = 2366; endspecify
        else
            specify $setup(C, posedge CLK, CREG != 0 ? 620 : 2059); endspecify
        if (PREG == 0)
            specify (PCIN *> P) = 875; (PCIN *> PCOUT) = 678; endspecify
        else
            specify $setup(PCIN, posedge CLK, 371); endspecify
        if (AREG != 0 || MREG != 0 || PREG != 0)
            specify (posedge CLK => (P : 48'bx)) = PREG != 0 ? 835 : MREG != 0 ? 2630 : 4345; endspecify
        if (AREG != 0 || MREG != 0 || PREG != 0)
            specify (posedge CLK => (PCOUT : 48'bx)) = PREG != 0 ? 582 : MREG != 0 ? 2432 : 4143; endspecify
    endgenerate
endmodule
