"""The table of stages: one stage alone is a part of the program, and takes less than all of them."""

from collections import Counter

import pytest

from rbdhw.bench.stages import one_stage, stage_layout, stage_rows
from rbdhw.config import BuildOptions
from rbdhw.explore.search import make_plan
from rbdhw.fixed.program import Kind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.scalar import STAGE


@pytest.fixture(scope="module")
def program():
    plan = make_plan(load_urdf(path("toy")), BuildOptions(functions=("rk4",), ii=4, width=24, samples=64))
    return plan.program


def test_a_stage_has_the_operations_of_its_regions(program):
    one = one_stage(program, 4)
    own = [o for o in program.operations if o.region.step.endswith(f"{STAGE}4")]
    computed = [o for o in one.operations if o.kind not in (Kind.INPUT, Kind.CONSTANT)]
    assert Counter(o.kind for o in computed) == Counter(o.kind for o in own if o.kind is not Kind.CONSTANT)
    assert all(operand.value < i for i, o in enumerate(one.operations) for operand in o.operands)
    assert len(one.outputs["stage"]) > 0


def test_a_stage_alone_takes_less_than_all():
    rows = stage_rows([("toy", "rk4")], [4])
    alone, turns, one = rows
    assert (alone["in_turn"], turns["in_turn"]) == ("nothing", "stages")
    for resource in ("adders", "dsp_blocks", "luts"):
        assert one[resource] <= alone[resource]
    assert stage_layout(rows)[-1]["core latency"] == "-"
