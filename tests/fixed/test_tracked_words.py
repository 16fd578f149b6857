"""The words of frames' positions: a common format, in software and in hardware."""

from types import SimpleNamespace

import numpy as np
import pytest
from amaranth.hdl import Module, Signal, signed
from amaranth.sim import Simulator

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import POSITION_BITS, RolloutShape, next_state, rollout_terms, tracked_words, wrapped
from rbdhw.rtl.rollout_entry import go_back

FORMATS = (Format(24, 22), Format(2, 0), Format(30, 28), Format(26, 40), Format(20, 10))


def step_of(formats):
    """Return the words of a step of one joint whose only frame has coordinates of these formats."""
    inputs = [Word(name, "1", 0, Format(20, 18), -100, 100) for name in ("q[0]", "v[0]", "tau[0]")]
    outputs = [Word(f"step.x_next[{k}]", "1", 0, Format(20, 18)) for k in range(2)]
    outputs += [Word(f"step.p_next[0,{k}]", "m", 0, format_) for k, format_ in enumerate(formats)]
    return SimpleNamespace(inputs=inputs, outputs=outputs)


SHAPE = RolloutShape(4, 1, "step", ("cost",), tracking=True)


@pytest.mark.parametrize("formats", [FORMATS[:3], FORMATS[1:4], FORMATS[2:]])
def test_positions_have_a_common_format(formats):
    """It reaches as far as the largest; one that rounds up beyond it does not fit."""
    step = step_of(formats)
    words = tracked_words(step, SHAPE)
    reach = max(each.width - 1 - each.binary_point for each in formats)
    assert {each.word.format for each in words} == {Format(POSITION_BITS, POSITION_BITS - 1 - reach)}
    rng = np.random.default_rng(0)
    results = {
        f"step.p_next[0,{k}]": np.append(
            rng.integers(each.lowest, each.highest, 20), [each.lowest, each.highest]
        )
        for k, each in enumerate(formats)
    }
    behind = next_state(step, words, results)
    for k, (each, format_) in enumerate(zip(words, formats, strict=True)):
        exact = np.ldexp(results[f"step.p_next[0,{k}]"].astype(float), -format_.binary_point)
        assert (
            np.abs(each.word.format.real(behind[each.word.name]) - exact).max() <= each.word.format.step / 2
        )
    inside, exceeds = wrapped(words, behind)
    largest = [each.width - 1 - each.binary_point == reach for each in formats]
    coarse = [each.binary_point > words[0].word.format.binary_point for each in formats]
    assert exceeds.tolist() == [False] * 21 + [any(map(all, zip(largest, coarse, strict=True)))]
    compare_with_hardware(step, words, results, inside, behind)


def compare_with_hardware(step, words, results, inside, behind):
    m, fields = Module(), {}
    for word in step.outputs:
        fields[word.name] = Signal(signed(word.format.width), name=word.name.replace(".", "_"))
    outs = []
    for each in words:
        value, exceeds = go_back(each, [(word, fields[word.name]) for word in step.outputs])
        outs.append((Signal(signed(each.word.format.width)), Signal()))
        m.d.comb += [outs[-1][0].eq(value), outs[-1][1].eq(exceeds)]

    async def bench(context):
        for k in range(len(next(iter(results.values())))):
            for name, values in results.items():
                context.set(fields[name], int(values[k]))
            for each, (value, exceeds) in zip(words, outs, strict=True):
                name = each.word.name
                assert context.get(value) == inside[name][k]
                assert context.get(exceeds) == (inside[name][k] != behind[name][k])

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


def test_positions_cost_something_only_where_they_are_asked_for():
    step = step_of(FORMATS[:3])
    assert [term.weight for term in rollout_terms(step, SHAPE)] == [
        *("x_weight[0]", "x_weight[1]", "p_weight[0,0]", "p_weight[0,1]", "p_weight[0,2]", "tau_weight[0]"),
    ]
    others = rollout_terms(step, RolloutShape(4, 1, "step", ("cost",)))
    assert [term.weight_of for term in others] == ["x_weight", "x_weight", "tau_weight"]
