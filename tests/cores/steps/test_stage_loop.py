"""When stages loop: which builds permit it, what is chosen, and the number formats."""

import numpy as np
import pytest

from rbdhw.cores.checks import check_build
from rbdhw.errors import InputError
from rbdhw.estimate.model import load
from rbdhw.explore.search import BuildSearch
from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.step_program import UnrolledProgram
from rbdhw.options.build import BuildOptions
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.marks import long
from tests.support.stage_loops import search_of

TOY = load_urdf(path("toy"))


def search(function: str = "rk4", **options: object) -> BuildSearch:
    return search_of(TOY, function, **({"share_stages": "auto"} | options))


def test_auto_keeps_the_cheaper_way() -> None:
    loop_search = search()
    assert (loop_search.cores(4), loop_search.cores(6), loop_search.cores(8)) == (
        ("pipeline", "loop"),
        ("pipeline",),
        ("pipeline", "loop"),
    )
    choice = loop_search.choose(4)
    loads = {core: load(estimate, loop_search.device) for core, estimate in choice.estimates.items()}
    assert set(loads) == {"pipeline", "loop"}
    assert choice.core == min(loads, key=loads.__getitem__)
    assert choice.why.startswith(f"the {choice.core} takes {loads[choice.core]:.1%} over all resources, the ")
    assert loop_search.choose(6).estimates == {}


def test_other_builds_do_not_loop() -> None:
    for options in ({"share_stages": "off"}, {"core": "array"}):
        assert "loop" not in search(**options).cores(8)
    assert search(functions=("rk4", "id")).cores(4) == ("pipeline",)
    assert search("step").cores(4) == ("pipeline",)
    assert search(core="auto").cores(8) == ("pipeline", "array", "loop")


def test_required_loops() -> None:
    def refusal(functions: tuple[str, ...], **options: object) -> str:
        with pytest.raises(InputError) as error:
            check_build(BuildOptions(functions, share_stages="loop", **options))
        return str(error.value)

    assert refusal(("rk4",), ii=6) == (
        "share-stages: the 4 stages cannot loop at an ii of 6; expected a multiple of 4; use --ii 8"
    )
    assert "stages loop in a core of their own" in refusal(("rk4", "id"), ii=4)
    assert "no function of the build works in stages" in refusal(("id",), ii=4)
    assert "limbs do not share the hardware of a loop" in refusal(("rk4",), ii=4, share_limbs="on")
    assert search(share_stages="loop").choose(4).core == "loop"


@pytest.mark.parametrize("function", ["rk4", long("drk4")])
def test_formats_are_as_accurate_as_those_of_stages_with_hardware_of_their_own(function: str) -> None:
    loop_search = search(function, width=24)
    loop, alone = (loop_search.schedule(core, 4).formats.errors[function] for core in ("loop", "pipeline"))
    assert loop.whole.flagged <= alone.whole.flagged + 5
    assert loop.whole.median < 1.5 * alone.whole.median
    assert loop.whole.max < 2.0 * alone.whole.max


def test_the_state_keeps_its_last_bits() -> None:
    """What a stage hands on is as wide as multipliers, but the state and its sums are wider."""
    program = search(width=18).schedule("loop", 4).program
    assert isinstance(program, UnrolledProgram)
    formats = {word.name: word.format for word in program.inputs}
    handed = {word.name: word.format for word in program.steps.program.inputs}
    results = {word.name: word.format for word in program.outputs["rk4"]}
    for k in range(2):
        assert handed[f"stage_v[{k}]"].width <= 22 < formats[f"v[{k}]"].width
        assert formats[f"v[{k}]"].binary_point > handed[f"stage_v[{k}]"].binary_point
        assert results[f"rk4.x_next[{2 + k}]"].binary_point >= formats[f"v[{k}]"].binary_point
    steps = 64
    words = {name: np.zeros(steps, np.int64) for name in formats} | {"v[0]": np.arange(steps)}
    words["h"][:] = next(word.lowest for word in program.inputs if word.name == "h")
    after = evaluate(program, words).words["rk4.x_next[2]"]
    finer = results["rk4.x_next[2]"].binary_point - formats["v[0]"].binary_point
    np.testing.assert_allclose(np.diff(after), 2**finer, atol=0.5 * 2**finer)


def test_the_budget_chooses_the_width() -> None:
    loop_search = search(width=None, max_error=1e-2)
    formats = loop_search.schedule("loop", 4).formats
    assert formats.taken.bound <= 1e-2
    assert formats.program.port_widths[0] < 27
