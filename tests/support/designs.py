"""A small design with hand-written hardware: bodies on rails, inverse and forward dynamics.

The hardware is written from the program's operations and the packet layout alone, so that it can be made
faulty on purpose. It computes one task at a time.
"""

from dataclasses import replace
from itertools import accumulate

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.design.packet_layout import packet_entries
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.graph_inputs import graph_inputs, graph_ranges
from rbdhw.domain.sampling import sample
from rbdhw.fixed.lower import lower
from rbdhw.fixed.program import Kind, Operand, Operation, Program
from rbdhw.fixed.widths import plain_widths
from rbdhw.graph.interpret import node_values
from rbdhw.graph.trace import Recorder
from rbdhw.header import CODE_BITS, HEADER, HEADER_BITS, HIGH_CODE
from rbdhw.model.program_interface import program_interface
from rbdhw.robot.model import BASE, Body, Inertia, Joint, JointKind, Limits, Placement, Robot
from tests.support.manifests import ERROR, MANIFEST, RESULT

MASS, GRAVITY = 2.5, 9.81


def rail(bodies: int = 1) -> Robot:
    """Return bodies of 2.5 kg, each on its own vertical rail."""
    limits = (Limits(-0.4, 0.6, 1.0, 200.0),)
    return Robot(
        "rail",
        "base",
        tuple(
            Body(
                f"cart_{i}",
                BASE,
                Joint(f"rail_{i}", JointKind.PRISMATIC, (0.0, 0.0, 1.0), Placement(), limits),
                Inertia(MASS),
            )
            for i in range(bodies)
        ),
    )


def rail_program(robot: Robot, width: int = 16) -> Program:
    """Return the bit-exact inverse and forward dynamics of bodies on rails."""
    recorder = Recorder()
    for i in range(len(robot.bodies)):
        _, _, a, tau = (recorder.input(f"{array}[{i}]") for array in ("q", "v", "a", "tau"))
        recorder.output(f"id.tau[{i}]", (a + GRAVITY) * MASS)
        recorder.output(f"fd.a[{i}]", tau * (1.0 / MASS) - GRAVITY)
    graph = recorder.builder.finish(recorder.outputs)
    domain = input_domain(robot)
    arrays = sample(robot, domain, 256, np.random.default_rng(0))
    values = node_values(graph, graph_inputs(robot, arrays))
    magnitudes = [float(np.max(np.abs(value))) for value in values]
    return lower(graph, magnitudes, graph_ranges(robot, domain, ()), plain_widths(graph, width))


def rail_design(data_width: int = 64, bodies: int = 1, width: int = 16) -> Design:
    """Return the whole design, with an error floor of one unit and an error limit of 0.1."""
    robot = rail(bodies)
    program = rail_program(robot, width)
    result = RESULT | {"floor": 1.0, "limit": 0.1}
    errors = {name: ERROR | {"results": {array: result}} for name, array in (("id", "tau"), ("fd", "a"))}
    interface = program_interface([program], data_width)
    manifest = MANIFEST | {"error": errors} | packet_entries(interface, robot).data()
    draft = Design(robot, input_domain(robot), (program,), (), interface, manifest, "")
    return replace(draft, verilog=verilog(draft))


def with_program(design: Design, program: Program, data_width: int = 32, number: str = "fixed") -> Design:
    """Return the design with another program, and the interface and manifest that belong to it."""
    interface = program_interface([program], data_width, number)
    manifest = packet_entries(interface, design.robot).data()
    return replace(design, programs=(program,), interface=interface, manifest=manifest)


def assert_same(read_back: Design, design: Design) -> None:
    """Check that a design was read back as it was written."""
    for name in ("robot", "programs", "fext", "interface", "manifest", "verilog"):
        assert getattr(read_back, name) == getattr(design, name), name
    assert read_back.domain.wraps == design.domain.wraps
    assert list(read_back.domain.bounds) == list(design.domain.bounds)
    for name, bounds in design.domain.bounds.items():
        np.testing.assert_array_equal(read_back.domain.bounds[name], bounds)


def faulty(design: Design) -> Design:
    """Return the design with faulty hardware.

    The response to tag 3 is wrong, that to tag 35 is unstable, and from tag 40 on there is none. If it
    is sent alone, the response to tag 45 has an unstable TLAST, tag 46 is answered a second time, with
    tag 47, after a pause, and the response to tag 48 is withdrawn in every other cycle.
    """
    faults = {
        "reg done = 0;": "reg done = 0, wavering = 0;\nreg [4:0] idle = 0;",
        "tvalid = left != 0;": "tvalid = left != 0 && whole[15:0] != 40 && !(whole[15:0] == 48 && wavering);",
        "  if (rst) begin": _AGAIN,
        "tlast = left == 1;": "tlast = left == 1 ^ (whole[15:0] == 45 && wavering);",
        ":0];\nalways": ":0] ^ (whole[15:0] == 3) ^ (whole[15:0] == 35 && wavering);\nalways",
    }
    verilog = design.verilog
    for right, wrong in faults.items():
        assert verilog.count(right) == 1
        verilog = verilog.replace(right, wrong)
    return replace(design, verilog=verilog)


_AGAIN = """\
  wavering <= !wavering;
  idle <= left == 0 ? idle + 1 : 0;
  if (whole[15:0] == 46 && idle == 31) begin
    whole[15:0] <= 47;
    done <= 1;
  end
  if (rst) begin"""
"""Statements that answer tag 46 again after 31 cycles, before the reset."""


def verilog(design: Design) -> str:
    """Return the hardware, which collects a request, computes, and sends the response."""
    stream = design.interface
    width = stream.data_width
    inputs = {function: stream.beats(stream.request_widths(function)) for function in design.functions}
    outputs = {function: stream.beats(stream.response_widths(function)) for function in design.functions}
    most_in, most_out = max(inputs.values()), max(outputs.values())
    chosen = [
        f"{CODE_BITS}'d{stream.codes[function]}: begin "
        f"response = response_{function}; beats = {outputs[function]}; end"
        for function in design.functions
    ]
    return _SHELL.format(
        top=width - 1,
        width=width,
        first=HEADER["function"][0],
        last=sum(HEADER["function"]) - 1,
        high=HEADER["options"][0] + HIGH_CODE,
        request=most_in * width - 1,
        response=most_out * width - 1,
        datapath="\n".join(_datapath(design)),
        chosen="\n".join(chosen),
    )


def _datapath(design: Design) -> list[str]:
    lines = []
    for function in design.functions:
        names = {word.value: word for word in design.interface.inputs(function)}
        low = list(accumulate(design.programs[0].slots, initial=HEADER_BITS))
        places = {value: low[word.slot] for value, word in names.items()}
        for i, operation in enumerate(design.programs[0].operations):
            lines.append(_operation(function, i, operation, places.get(i)))
        bounds = [
            f"$signed({function}_{i}) < $signed(64'd{word.lowest & (2**64 - 1)}) || "
            f"$signed({function}_{i}) > $signed(64'd{word.highest & (2**64 - 1)})"
            for i, word in names.items()
            if word.lowest is not None and word.highest is not None
        ]
        used = design.interface.outputs(function)
        words = [f"{function}_{word.value}[{word.format.width - 1}:0]" for word in reversed(used)]
        status = f"{{7'd0, {' || '.join(bounds)}}}"
        lines.append(f"wire [{sum(w.format.width for w in used) + HEADER_BITS - 1}:0] response_{function} =")
        lines.append(f"  {{{', '.join(words)}, {status}, whole[23:0]}};")
    return lines


def _operation(function: str, i: int, operation: Operation, offset: int | None) -> str:
    width = operation.format.width
    terms = [_operand(function, operand) for operand in operation.operands]
    match operation.kind:
        case Kind.INPUT:
            full = f"whole[{offset + width - 1}:{offset}]" if offset is not None else "64'd0"
        case Kind.CONSTANT:
            full = _number(operation.constant)
        case Kind.ADD:
            full = " + ".join(terms)
        case Kind.SCALE:
            full = f"{terms[0]} * {_number(operation.constant)}"
        case _:
            raise ValueError(f"{operation.kind} is more than a rail needs")
    half = (1 << operation.drop) >> 1
    name = f"{function}_{i}"
    return (
        f"wire signed [63:0] {name}_full = ({full}) + {_number(half)};\n"
        f"wire signed [{width - 1}:0] {name}_cut = {name}_full >>> {operation.drop};\n"
        f"wire signed [63:0] {name} = {name}_cut;"
    )


def _number(value: int) -> str:
    return f"$signed(64'd{value & (2**64 - 1)})"


def _operand(function: str, operand: Operand) -> str:
    name, by = f"{function}_{operand.value}", abs(operand.shift)
    shifted = f"({name} {'<<<' if operand.shift >= 0 else '>>>'} {by})"
    return f"(-{shifted})" if operand.negative else shifted


_SHELL = """\
module accelerator (
  input clk, input rst,
  input [{top}:0] s_axis_tdata, input s_axis_tvalid, output s_axis_tready, input s_axis_tlast,
  output [{top}:0] m_axis_tdata, output m_axis_tvalid, input m_axis_tready, output m_axis_tlast
);
reg [{request}:0] whole = 0;
reg [{response}:0] response;
reg [{response}:0] held = 0;
reg [7:0] beats;
reg [7:0] received = 0;
reg [7:0] left = 0;
reg done = 0;
{datapath}
always @(*) begin
  response = 0;
  beats = 1;
  case ({{{{whole[{high}], whole[{last}:{first}]}}}})
{chosen}
    default: begin end
  endcase
end
assign s_axis_tready = !done && left == 0;
assign m_axis_tvalid = left != 0;
assign m_axis_tlast = left == 1;
assign m_axis_tdata = held[{top}:0];
always @(posedge clk) begin
  if (s_axis_tvalid && s_axis_tready) begin
    whole[received * {width} +: {width}] <= s_axis_tdata;
    received <= s_axis_tlast ? 0 : received + 1;
    done <= s_axis_tlast;
  end
  if (done) begin
    held <= response;
    left <= beats;
    done <= 0;
  end
  if (m_axis_tvalid && m_axis_tready) begin
    held <= held >> {width};
    left <= left - 1;
  end
  if (rst) begin
    done <= 0;
    left <= 0;
    received <= 0;
  end
end
endmodule
"""
