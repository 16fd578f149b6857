"""The converters of a lane equal the bit-exact model; :mod:`test_shell_floating` has them in use."""

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Value

from rbdhw.fixed.format import Format
from rbdhw.fixed.single_precision import from_singles, to_singles
from rbdhw.rtl.conversion import Follower
from rbdhw.rtl.single_precision import FixedToSingle, SingleToFixed
from tests.support.marks import long
from tests.support.simulation import Simulation


def pipelined(dut: Any, inputs: list[dict[str, int]], outputs: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Return the outputs of a pipeline that gets new inputs in every cycle."""
    results: list[tuple[int, ...]] = []

    async def bench(ctx: Any) -> None:
        for k in range(len(inputs) + dut.latency):
            for name, value in inputs[min(k, len(inputs) - 1)].items():
                ctx.set(Value.cast(getattr(dut, name)), value)
            if k >= dut.latency:
                results.append(tuple(ctx.get(Value.cast(getattr(dut, name))) for name in outputs))
            await ctx.tick()

    Simulation(dut).run(bench)
    return results


def singles_of_all_kinds(seed: int) -> np.ndarray:
    """Return singles of every exponent and both signs, with extreme, tied and random fractions."""
    rng = np.random.default_rng(seed)
    exponents = np.repeat(np.arange(256, dtype=np.uint32), 4)
    ties = np.uint32(1) << rng.integers(0, 23, len(exponents), dtype=np.uint32)
    fractions = np.select(
        [rng.random(len(exponents)) < chance for chance in (0.2, 0.3, 0.6)],
        [np.uint32(0), np.uint32(0x7FFFFF), (ties - 1) ^ np.uint32(0x7FFFFF) ^ ties],
        rng.integers(0, 2**23, len(exponents), dtype=np.uint32),
    )
    signs = rng.integers(0, 2, len(exponents), dtype=np.uint32)
    near = (rng.integers(-(2**9), 2**9, 200) / 2.0 / 2.0**10).astype(np.float32).view(np.uint32)
    return np.concatenate([signs << 31 | exponents << 23 | fractions, near])


@pytest.mark.parametrize(("width", "wrapping"), [(32, True), long(32, False), (36, False)])
def test_singles_become_integers(width: int, wrapping: bool) -> None:
    formats = tuple(Format(width, point) for point in (-3, 10, 26, 33))
    dut = SingleToFixed(formats=formats, width=width, wraps=wrapping)
    singles = singles_of_all_kinds(width)
    rng = np.random.default_rng(2)
    chosen = rng.integers(0, len(formats), len(singles))
    wraps = rng.integers(0, 2, len(singles)) * wrapping
    used = rng.random(len(singles)) < 0.95
    inputs = [
        {"single": bits, "used": use, "scale": dut.scale_of(formats[k]), "wrap": wrap}
        for bits, use, k, wrap in zip(
            singles.tolist(), used.tolist(), chosen.tolist(), wraps.tolist(), strict=True
        )
    ]
    expected = np.zeros(len(singles), np.int64)
    refused = np.zeros(len(singles), np.bool_)
    for k, field in enumerate(formats):
        for wrap in (0, 1):
            where = used & (chosen == k) & (wraps == wrap)
            expected[where], refused[where] = from_singles(singles[where], field, wraps=bool(wrap))
    numbers = pipelined(dut, inputs, ("number", "refused"))
    assert numbers == list(zip(expected.tolist(), refused.tolist(), strict=True))


@pytest.mark.parametrize("width", [32, 36])
def test_of_an_angle_of_many_turns_the_last_bits_count(width: int) -> None:
    """The lowest bit of the mantissas is a quarter turn, half a turn and a whole turn."""
    field = Format(width, 26)
    dut = SingleToFixed(formats=(field,), width=width, wraps=True)
    singles = np.array([dut.scale_of(field) + k << 23 | 1 for k in (-1, 0, 1)], np.uint32)
    inputs = [
        {"single": bits, "used": 1, "scale": dut.scale_of(field), "wrap": 1} for bits in singles.tolist()
    ]
    numbers = [number for (number,) in pipelined(dut, inputs, ("number",))]
    assert numbers == [2 ** (width - 2), -(2 ** (width - 1)), 0]
    assert numbers == from_singles(singles, field, wraps=True)[0].tolist()


@pytest.mark.parametrize("width", [32, 41])
def test_integers_become_singles(width: int) -> None:
    dut = FixedToSingle(width=width)
    rng = np.random.default_rng(width)
    sizes = rng.integers(1, width, 600)
    whole = Format(width, 0)
    integers = rng.integers(whole.lowest, whole.highest, 600, endpoint=True) >> (width - 1 - sizes)
    ties = (1 << sizes) + (1 << np.maximum(sizes - 24, 0)) * rng.choice([-1, 1, 3], 600)
    ends = [whole.lowest, whole.highest, whole.lowest + 1, 0, 1, -1]
    every = np.concatenate([integers, np.clip(ties, whole.lowest, whole.highest), -ties // 3, ends])
    points = rng.choice([-5, 0, 17, 40], len(every))
    inputs = [
        {"number": number, "exponent": dut.exponent_of(Format(width, point))}
        for number, point in zip(every.tolist(), points.tolist(), strict=True)
    ]
    converted = np.array(pipelined(dut, inputs, ("single",)), np.uint32)[:, 0]
    for point in (-5, 0, 17, 40):
        where = points == point
        np.testing.assert_array_equal(converted[where], to_singles(every[where], point))


def test_the_follower_knows_each_beat() -> None:
    dut = Follower(data_width=64, beats=3)
    seen: list[tuple[int, ...]] = []

    async def bench(ctx: Any) -> None:
        beats = [
            (1, 1, 0),
            (2, 0, 0),
            (3, 1, 1),
            (4, 1, 1),
            (5, 1, 0),
            (6, 1, 0),
            (7, 1, 0),
            (8, 1, 0),
            (9, 1, 1),
        ]
        for value, valid, last in beats:
            ctx.set(dut.i, {"data": value, "last": last})
            ctx.set(dut.valid, valid)
            await ctx.tick()
            if valid:
                seen.append((ctx.get(dut.o.data), ctx.get(dut.index), ctx.get(dut.header.as_value())))

    Simulation(dut).run(bench)
    assert seen == [(1, 0, 1), (3, 1, 1), (4, 0, 4), (5, 0, 5), (6, 1, 5), (7, 2, 5), (8, 3, 5), (9, 3, 5)]
