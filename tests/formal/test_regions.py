"""A core is proven equal to its program, with products, sines and cosines that may be any functions.

A task with any words starts in any state of the core. Products of the hardware are free inputs, but where one
has the operands of a step of the program, which is asserted, it is the program's: any number, too. Proven is
all else: sums, roundings, choices by slot, the cycles of all steps, delay lines, results and overflows.
"""

from unittest import mock

import pytest
from amaranth.hdl import (
    Assert,
    Cat,
    ClockDomain,
    ClockSignal,
    Const,
    Elaboratable,
    Fragment,
    Module,
    Mux,
    ResetSignal,
    Signal,
    signed,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.pipeline.component import PipelineComponent
from rbdhw.cores.pipeline.core import PipelineCore
from rbdhw.fixed.program import Kind
from rbdhw.fixed.ranges import drop_needless_checks
from rbdhw.options.build import BuildOptions
from rbdhw.rtl import arithmetic, region
from rbdhw.rtl.arithmetic import scale
from rbdhw.rtl.delay import delay_line
from rbdhw.rtl.region import RegionModule
from rbdhw.target import target
from tests.support.chosen_programs import chosen_program
from tests.support.formal import unroll

pytestmark = pytest.mark.verify

WIDTH = 12


class FreeTrigonometry(wiring.Component):
    """A unit whose results are inputs."""

    latency = 0

    def __init__(self, harness, unit, spec, latency):
        self.made = [Signal(signed(spec.width)) for _ in range(2)]
        super().__init__(
            {"angle": In(spec.phase_bits), "sin": Out(signed(spec.width)), "cos": Out(signed(spec.width))}
        )
        harness.units.append((unit, (self.angle,), self.made, latency))

    def elaborate(self, _platform):
        m = Module()
        m.d.comb += [self.sin.eq(self.made[0]), self.cos.eq(self.made[1])]
        return m


class CoreHarness(Elaboratable):
    """A core beside its program, for the task that starts in the cycle after the reset."""

    def __init__(self, program, bound, function):
        self.program, self.bound, self.function = program, bound, function
        self.core = PipelineComponent(program=program, bound=bound)
        self.units, self.ports = [], []
        methods, names = self.free_units()
        with methods, names:
            self.fragment = Fragment.get(self.core, None)
        self.values, self.overflows, self.free = {}, [], {}

    def port(self, shape):
        """Return another free input."""
        self.ports.append(Signal(shape, name=f"free_{len(self.ports)}"))
        return self.ports[-1]

    def free_units(self):
        """Replace what multiplies, and the units of sines and cosines."""
        multiplier, trigonometry, now = RegionModule._multiplier, RegionModule._trigonometry, []

        def remember(method):
            def remembered(module, m, unit, name):
                now[:] = [unit]
                return method(module, m, unit, name)

            return remembered

        def multiply_add(_m, _name, a, b, addend, *, registers, primitive, signs):  # noqa: ARG001
            assert registers == 0
            product = Signal(signed(len(a) + len(b)))
            self.units.append((now[0], (getattr(a, "total", a), b), [product], registers))
            return signs.apply(product, addend)

        return mock.patch.multiple(
            region.RegionModule, _multiplier=remember(multiplier), _trigonometry=remember(trigonometry)
        ), mock.patch.multiple(
            region,
            multiply_add=multiply_add,
            TrigonometryUnit=lambda spec, latency, _registers, _primitive: FreeTrigonometry(
                self, now[0], spec, latency
            ),
        )

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = self.fragment
        core, function = self.core, self.function
        m.domains.sync = ClockDomain()
        self.first, self.t = Signal(init=1, name="proof_first", reset_less=True), Signal(6, name="proof_t")
        m.d.sync += [self.first.eq(0), self.t.eq(self.t + 1)]
        m.d.comb += [ClockSignal().eq(self.port(1)), ResetSignal().eq(self.first)]
        task = self.held(m, sum(self.program.slots))
        others = self.port(len(core.payload)), self.port(len(core.functions)), self.port(len(core.options))
        ours = task, 1 << core.names.index(function), 0
        for signal, mine, other in zip(
            (core.payload, core.functions, core.options), ours, others, strict=True
        ):
            m.d.comb += signal.eq(Mux(self.at(0), mine, other))
        m.d.comb += Assert(~self.at(0) | core.phase_zero)
        places = dict(zip(range(len(self.program.slots)), self.places(), strict=True))
        for word in self.program.inputs:
            low = places[word.slot]
            self.values[word.value] = task[low : low + word.format.width].as_signed()
        for i in sorted(self.program.operations_of(function)):
            self.compute(m, i)
        for unit, operands, made, latency in self.units:
            m.d.comb += [result.eq(self.port(result.shape())) for result in made]
            for index in unit.steps.values():
                self.join(m, index, operands, made, latency)
        words = [self.values[word.value] for word in self.program.outputs[function]]
        with m.If(self.at(core.latency(function))):
            m.d.comb += Assert(getattr(core, f"result_{function}") == Cat(words))
            m.d.comb += Assert(getattr(core, f"overflow_{function}") == Cat(self.overflows).any())
        return m

    def at(self, cycle):
        """Return whether this is a cycle of the task."""
        return ~self.first & (self.t == cycle)

    def places(self):
        return [sum(self.program.slots[:slot]) for slot in range(len(self.program.slots))]

    def held(self, m, shape):
        """Return any number, which stays the same."""
        value = Signal(shape, name=f"held_{len(self.ports)}", reset_less=True)
        with m.If(self.first):
            m.d.sync += value.eq(self.port(shape))
        return value

    def compute(self, m, i):
        """Compute an operation of the program in exact numbers, but for what units compute."""
        operation = self.program.operations[i]
        taken = [self.values[operand.value] for operand in operation.operands]
        shifted = [shift(value, operand) for value, operand in zip(taken, operation.operands, strict=True)]
        shared = i in self.bound.producer and not self.bound.alone(i)
        match operation.kind:
            case Kind.INPUT:
                return
            case Kind.CONSTANT:
                full = Const(operation.constant, signed(operation.format.width))
            case Kind.ADD:
                full = sum(shifted[1:], shifted[0])
            case Kind.SELECT:
                full = Mux(taken[0][0], shifted[1], shifted[2])
            case Kind.SCALE if not shared:
                # That these adders multiply is proven for themselves.
                full = scale(m, f"scale_{i}", taken[0], operation.constant, operation.drop)
            case Kind.MULTIPLY | Kind.SCALE:
                second = len(taken[1]) if taken[1:] else operation.constant.bit_length() + 1
                full = self.free[i] = self.held(m, signed(len(taken[0]) + second))
            case Kind.SIN | Kind.COS:
                full = self.free[i] = self.held(m, signed(operation.format.width))
        rounded = Signal(signed(len(full) + 1), name=f"rounded_{i}")
        half = 0 if operation.kind is Kind.SCALE and not shared else (1 << operation.drop) >> 1
        m.d.comb += rounded.eq((full + half) >> operation.drop)
        self.values[i] = Signal(signed(operation.format.width), name=f"value_{i}")
        m.d.comb += self.values[i].eq(rounded)
        if operation.checked:
            self.overflows.append(rounded != self.values[i])

    def join(self, m, index, operands, made, latency):
        """A unit has the operands of a step of the program, so its result some cycles later is the same."""
        step, start = self.bound.steps[index], self.bound.starts[index]
        operation = self.program.operations[step.results[0]]
        taken = [self.values[operand.value] for operand in operation.operands]
        if operation.kind in (Kind.SIN, Kind.COS):
            angle = shift(taken[0], operation.operands[0]) + operation.constant
            expected = [angle[: len(operands[0])]]
            results = {Kind.SIN: made[0], Kind.COS: made[1]}
            pairs = [(results[self.program.operations[i].kind], self.free[i]) for i in step.results]
        else:
            factors = [*taken, *([Const(operation.constant)] if operation.kind is Kind.SCALE else [])]
            expected = sorted(factors, key=len, reverse=True)
            if step.pre_sum is not None:
                total = self.values[step.pre_sum]
                expected = [total, *(factor for factor in factors if factor is not total)]
            pairs = [(made[0], self.free[step.results[0]])]
        with m.If(self.at(start)):
            m.d.comb += Assert(Cat(a == b for a, b in zip(operands, expected, strict=True)).all())
        with m.If(self.at(start + latency)):
            m.d.comb += [hardware.eq(model) for hardware, model in pairs]


def shift(value, operand):
    """Return an operand after its shift and sign."""
    shifted = value << operand.shift if operand.shift >= 0 else value >> min(-operand.shift, len(value) - 1)
    return -shifted if operand.negative else shifted


def outcome_of(tmp_path, name, function, ii, change=lambda program: program):
    program = change(chosen_program(name, (function,), WIDTH))
    options = BuildOptions((function,), width=WIDTH, ii=ii, samples=64)
    core = PipelineCore.build(program, target("xcvu9p"), options, ())
    harness = CoreHarness(core.program, core.schedule, function)
    return unroll(harness, tmp_path, harness.core.latency(function) + 3)


CASES = [("toy", "id", 1), ("toy", "id", 4), ("toy", "m", 2), ("toy", "did", 8)]


@pytest.mark.parametrize(("name", "function", "ii"), CASES)
def test_a_core_is_its_program(tmp_path, name, function, ii):
    outcome = outcome_of(tmp_path, name, function, ii)
    outcome.assert_proven()


def test_a_core_without_needless_checks_is_its_program_for_words_outside_the_domain(tmp_path):
    outcome_of(tmp_path, "toy", "id", 4, drop_needless_checks).assert_proven()


def one_stage_less(m, value, enable, stages, **more):
    """A delay line whose last stage is the one before it."""
    taps = delay_line(m, value, enable, stages, **more)
    return taps | {stages[-1]: value} if stages else taps


@pytest.mark.parametrize(
    ("module", "name", "wrong"),
    [
        (arithmetic, "half", lambda drop: 1 << drop >> 2),
        (arithmetic, "align", lambda value, _operand: value),
        (region, "delay_line", one_stage_less),
    ],
)
def test_a_mutation_is_refuted_with_a_trace(monkeypatch, tmp_path, module, name, wrong):
    monkeypatch.setattr(module, name, wrong)
    outcome = outcome_of(tmp_path, "toy", "id", 1)
    outcome.assert_refuted()
