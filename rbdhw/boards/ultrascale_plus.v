// The delays of blocks for Yosys' mapping of logic, which knows none of UltraScale+: 2.8 times the figures of rbdhw/timing, as a
// look-up table of 7 series, with which Yosys maps, takes 2.8 times what one of UltraScale+ takes there. Yosys adds a wire of 2000 ps in
// front of each look-up table. So inputs of blocks have that wire here, and both ends of a block the way to its column. The wire
// between two blocks of a cascade takes no time. Without these delays logic in front of a block and behind it counts as apart, and
// as too short.
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
            specify (A *> P) = 8795; (A *> PCOUT) = 8573; (D *> P) = 8795; (D *> PCOUT) = 8573; endspecify
        else if (AREG == 0 && MREG == 0 && PREG == 0)
            specify (A *> P) = 7112; (A *> PCOUT) = 6890; endspecify
        else
            specify $setup(A, posedge CLK, AREG != 0 ? 2823 : MREG != 0 ? 4563 : 6545); endspecify
        if (BREG == 0 && MREG == 0 && PREG == 0)
            specify (B *> P) = 6914; (B *> PCOUT) = 6692; endspecify
        else
            specify $setup(B, posedge CLK, BREG != 0 ? 2927 : MREG != 0 ? 4367 : 6349); endspecify
        if (CREG == 0 && PREG == 0)
            specify (C *> P) = 4869; (C *> PCOUT) = 4650; endspecify
        else
            specify $setup(C, posedge CLK, CREG != 0 ? 2694 : 4305); endspecify
        if (PREG == 0)
            specify (PCIN *> P) = 980; (PCIN *> PCOUT) = 759; endspecify
        else
            specify $setup(PCIN, posedge CLK, 415); endspecify
        if (AREG != 0 || MREG != 0 || PREG != 0)
            specify (posedge CLK => (P : 48'bx)) = PREG != 0 ? 935 : MREG != 0 ? 2945 : 4866; endspecify
        if (AREG != 0 || MREG != 0 || PREG != 0)
            specify (posedge CLK => (PCOUT : 48'bx)) = PREG != 0 ? 652 : MREG != 0 ? 2724 : 4639; endspecify
    endgenerate
endmodule

(* blackbox *)
module RAMB18E2 (
    input CLKARDCLK, CLKBWRCLK, ADDRENA, ADDRENB, ENARDEN, ENBWREN, REGCEAREGCE, REGCEB,
    input RSTRAMARSTRAM, RSTRAMB, RSTREGARSTREG, RSTREGB, SLEEP,
    input [13:0] ADDRARDADDR, ADDRBWRADDR,
    input [15:0] DINADIN, DINBDIN,
    input [1:0] DINPADINP, DINPBDINP,
    input [1:0] WEA,
    input [3:0] WEBWE,
    output [15:0] DOUTADOUT, DOUTBDOUT,
    output [1:0] DOUTPADOUTP, DOUTPBDOUTP
);
    parameter [255:0] INIT_00 = 0, INIT_01 = 0, INIT_02 = 0, INIT_03 = 0, INIT_04 = 0, INIT_05 = 0, INIT_06 = 0, INIT_07 = 0;
    parameter [255:0] INIT_08 = 0, INIT_09 = 0, INIT_0A = 0, INIT_0B = 0, INIT_0C = 0, INIT_0D = 0, INIT_0E = 0, INIT_0F = 0;
    parameter [255:0] INIT_10 = 0, INIT_11 = 0, INIT_12 = 0, INIT_13 = 0, INIT_14 = 0, INIT_15 = 0, INIT_16 = 0, INIT_17 = 0;
    parameter [255:0] INIT_18 = 0, INIT_19 = 0, INIT_1A = 0, INIT_1B = 0, INIT_1C = 0, INIT_1D = 0, INIT_1E = 0, INIT_1F = 0;
    parameter [255:0] INIT_20 = 0, INIT_21 = 0, INIT_22 = 0, INIT_23 = 0, INIT_24 = 0, INIT_25 = 0, INIT_26 = 0, INIT_27 = 0;
    parameter [255:0] INIT_28 = 0, INIT_29 = 0, INIT_2A = 0, INIT_2B = 0, INIT_2C = 0, INIT_2D = 0, INIT_2E = 0, INIT_2F = 0;
    parameter [255:0] INIT_30 = 0, INIT_31 = 0, INIT_32 = 0, INIT_33 = 0, INIT_34 = 0, INIT_35 = 0, INIT_36 = 0, INIT_37 = 0;
    parameter [255:0] INIT_38 = 0, INIT_39 = 0, INIT_3A = 0, INIT_3B = 0, INIT_3C = 0, INIT_3D = 0, INIT_3E = 0, INIT_3F = 0;
    parameter [255:0] INITP_00 = 0, INITP_01 = 0, INITP_02 = 0, INITP_03 = 0, INITP_04 = 0, INITP_05 = 0, INITP_06 = 0, INITP_07 = 0;
    parameter [17:0] INIT_A = 0, INIT_B = 0, SRVAL_A = 0, SRVAL_B = 0;
    parameter integer DOA_REG = 0, DOB_REG = 0, READ_WIDTH_A = 0, READ_WIDTH_B = 0, WRITE_WIDTH_A = 0, WRITE_WIDTH_B = 0;
    parameter WRITE_MODE_A = "NO_CHANGE", WRITE_MODE_B = "NO_CHANGE";
    specify
        $setup(ADDRARDADDR, posedge CLKARDCLK, 3089);
        (posedge CLKARDCLK => (DOUTADOUT : 16'bx)) = 3250;
        (posedge CLKARDCLK => (DOUTPADOUTP : 2'bx)) = 3250;
        $setup(ADDRBWRADDR, posedge CLKBWRCLK, 3089);
        (posedge CLKBWRCLK => (DOUTBDOUT : 16'bx)) = 3250;
        (posedge CLKBWRCLK => (DOUTPBDOUTP : 2'bx)) = 3250;
    endspecify
endmodule

(* blackbox *)
module RAMB36E2 (
    input CLKARDCLK, CLKBWRCLK, ADDRENA, ADDRENB, ENARDEN, ENBWREN, REGCEAREGCE, REGCEB,
    input RSTRAMARSTRAM, RSTRAMB, RSTREGARSTREG, RSTREGB, SLEEP,
    input [14:0] ADDRARDADDR, ADDRBWRADDR,
    input [31:0] DINADIN, DINBDIN,
    input [3:0] DINPADINP, DINPBDINP,
    input [3:0] WEA,
    input [7:0] WEBWE,
    output [31:0] DOUTADOUT, DOUTBDOUT,
    output [3:0] DOUTPADOUTP, DOUTPBDOUTP
);
    parameter [255:0] INIT_00 = 0, INIT_01 = 0, INIT_02 = 0, INIT_03 = 0, INIT_04 = 0, INIT_05 = 0, INIT_06 = 0, INIT_07 = 0;
    parameter [255:0] INIT_08 = 0, INIT_09 = 0, INIT_0A = 0, INIT_0B = 0, INIT_0C = 0, INIT_0D = 0, INIT_0E = 0, INIT_0F = 0;
    parameter [255:0] INIT_10 = 0, INIT_11 = 0, INIT_12 = 0, INIT_13 = 0, INIT_14 = 0, INIT_15 = 0, INIT_16 = 0, INIT_17 = 0;
    parameter [255:0] INIT_18 = 0, INIT_19 = 0, INIT_1A = 0, INIT_1B = 0, INIT_1C = 0, INIT_1D = 0, INIT_1E = 0, INIT_1F = 0;
    parameter [255:0] INIT_20 = 0, INIT_21 = 0, INIT_22 = 0, INIT_23 = 0, INIT_24 = 0, INIT_25 = 0, INIT_26 = 0, INIT_27 = 0;
    parameter [255:0] INIT_28 = 0, INIT_29 = 0, INIT_2A = 0, INIT_2B = 0, INIT_2C = 0, INIT_2D = 0, INIT_2E = 0, INIT_2F = 0;
    parameter [255:0] INIT_30 = 0, INIT_31 = 0, INIT_32 = 0, INIT_33 = 0, INIT_34 = 0, INIT_35 = 0, INIT_36 = 0, INIT_37 = 0;
    parameter [255:0] INIT_38 = 0, INIT_39 = 0, INIT_3A = 0, INIT_3B = 0, INIT_3C = 0, INIT_3D = 0, INIT_3E = 0, INIT_3F = 0;
    parameter [255:0] INIT_40 = 0, INIT_41 = 0, INIT_42 = 0, INIT_43 = 0, INIT_44 = 0, INIT_45 = 0, INIT_46 = 0, INIT_47 = 0;
    parameter [255:0] INIT_48 = 0, INIT_49 = 0, INIT_4A = 0, INIT_4B = 0, INIT_4C = 0, INIT_4D = 0, INIT_4E = 0, INIT_4F = 0;
    parameter [255:0] INIT_50 = 0, INIT_51 = 0, INIT_52 = 0, INIT_53 = 0, INIT_54 = 0, INIT_55 = 0, INIT_56 = 0, INIT_57 = 0;
    parameter [255:0] INIT_58 = 0, INIT_59 = 0, INIT_5A = 0, INIT_5B = 0, INIT_5C = 0, INIT_5D = 0, INIT_5E = 0, INIT_5F = 0;
    parameter [255:0] INIT_60 = 0, INIT_61 = 0, INIT_62 = 0, INIT_63 = 0, INIT_64 = 0, INIT_65 = 0, INIT_66 = 0, INIT_67 = 0;
    parameter [255:0] INIT_68 = 0, INIT_69 = 0, INIT_6A = 0, INIT_6B = 0, INIT_6C = 0, INIT_6D = 0, INIT_6E = 0, INIT_6F = 0;
    parameter [255:0] INIT_70 = 0, INIT_71 = 0, INIT_72 = 0, INIT_73 = 0, INIT_74 = 0, INIT_75 = 0, INIT_76 = 0, INIT_77 = 0;
    parameter [255:0] INIT_78 = 0, INIT_79 = 0, INIT_7A = 0, INIT_7B = 0, INIT_7C = 0, INIT_7D = 0, INIT_7E = 0, INIT_7F = 0;
    parameter [255:0] INITP_00 = 0, INITP_01 = 0, INITP_02 = 0, INITP_03 = 0, INITP_04 = 0, INITP_05 = 0, INITP_06 = 0, INITP_07 = 0;
    parameter [255:0] INITP_08 = 0, INITP_09 = 0, INITP_0A = 0, INITP_0B = 0, INITP_0C = 0, INITP_0D = 0, INITP_0E = 0, INITP_0F = 0;
    parameter [35:0] INIT_A = 0, INIT_B = 0, SRVAL_A = 0, SRVAL_B = 0;
    parameter integer DOA_REG = 0, DOB_REG = 0, READ_WIDTH_A = 0, READ_WIDTH_B = 0, WRITE_WIDTH_A = 0, WRITE_WIDTH_B = 0;
    parameter WRITE_MODE_A = "NO_CHANGE", WRITE_MODE_B = "NO_CHANGE";
    specify
        $setup(ADDRARDADDR, posedge CLKARDCLK, 3089);
        (posedge CLKARDCLK => (DOUTADOUT : 32'bx)) = 3250;
        (posedge CLKARDCLK => (DOUTPADOUTP : 4'bx)) = 3250;
        $setup(ADDRBWRADDR, posedge CLKBWRCLK, 3089);
        (posedge CLKBWRCLK => (DOUTBDOUT : 32'bx)) = 3250;
        (posedge CLKBWRCLK => (DOUTPBDOUTP : 4'bx)) = 3250;
    endspecify
endmodule
