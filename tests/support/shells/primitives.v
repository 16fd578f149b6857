// The blocks of devices around a shell, as far as a simulation needs them: a clock generator passes its input on.

module IB(input I, output O);
  assign O = I;
endmodule

module OBZ(input I, input T, output O);
  assign O = I;
endmodule

module IBUF(input I, output O);
  assign O = I;
endmodule

module IBUFDS(input I, input IB, output O);
  assign O = I;
endmodule

module OBUFT(input I, input T, output O);
  assign O = I;
endmodule

module BUFG(input I, output O);
  assign O = I;
endmodule

module FDPE #(parameter INIT = 1'b1) (input C, input CE, input D, input PRE, output reg Q);
  initial Q = INIT;
  always @(posedge C or posedge PRE)
    if (PRE) Q <= 1'b1;
    else if (CE) Q <= D;
endmodule

module EHXPLLL #(
  parameter ICP_CURRENT = "", LPF_RESISTOR = "", MFG_ENABLE_FILTEROPAMP = "", MFG_GMCREF_SEL = "", FEEDBK_PATH = "",
  parameter CLKI_DIV = 1, CLKFB_DIV = 1, CLKOP_ENABLE = "", CLKOP_DIV = 1, CLKOP_CPHASE = 0,
  parameter CLKOS_ENABLE = "", CLKOS_DIV = 1, CLKOS_CPHASE = 0
) (
  input CLKI, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP, ENCLKOS,
  output CLKOP, CLKOS, LOCK
);
  assign CLKOP = CLKI;
  assign CLKOS = CLKI;
  assign LOCK = 1'b1;
endmodule

module MMCME4_BASE #(
  parameter CLKIN1_PERIOD = 0.0, DIVCLK_DIVIDE = 1, CLKFBOUT_MULT_F = 1.0, CLKOUT0_DIVIDE_F = 1.0
) (input CLKIN1, CLKFBIN, PWRDWN, RST, output CLKFBOUT, CLKOUT0, LOCKED);
  assign CLKFBOUT = CLKIN1;
  assign CLKOUT0 = CLKIN1;
  assign LOCKED = 1'b1;
endmodule

module MMCME2_BASE #(
  parameter CLKIN1_PERIOD = 0.0, CLKFBOUT_MULT_F = 1.0, CLKOUT0_DIVIDE_F = 1.0, CLKOUT1_DIVIDE = 1
) (input CLKIN1, CLKFBIN, PWRDWN, RST, output CLKFBOUT, CLKOUT0, CLKOUT1, LOCKED);
  assign CLKFBOUT = CLKIN1;
  assign CLKOUT0 = CLKIN1;
  assign CLKOUT1 = CLKIN1;
  assign LOCKED = 1'b1;
endmodule
