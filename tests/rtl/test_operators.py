"""The text of a design has each operator once, so that their number equals that in the manifest."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from rbdhw.design.folder import Design
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robots import path
from rbdhw.target import target
from tests.support.verilog import count, modules

ALL, SOME = DEFAULT_FUNCTIONS, ("id", "minv")
BUILDS = {
    "pipeline": BuildOptions(functions=("id", "fd"), ii=2, width=18),
    "pipeline-all": BuildOptions(functions=ALL, ii=2, width=18),
    "pipeline-float32": BuildOptions(functions=SOME, ii=3, width=18, number="float32", data_width=128),
    "array": BuildOptions(functions=SOME, ii=16, width=18, core="array"),
    "array-float32": BuildOptions(
        functions=("id",), ii=16, width=18, core="array", number="float32", target="ecp5-85"
    ),
}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if name == "pipeline" else pytest.mark.verify) for name in BUILDS],
)
def design(request: pytest.FixtureRequest) -> Design:
    return generate(path("toy"), replace(BUILDS[request.param], samples=64))


def assignments(text: str) -> list[tuple[str, str]]:
    """Return the expressions assigned to wires in a module, with the range of their bits."""
    ranges = {name: bits for bits, name in re.findall(r"wire (\[\d+:0\] )?(\w+)", text)}
    statements = re.findall(r"\b(?:assign|wire(?: \[\d+:0\])?) (\w+) = ([^;]*);", text)
    return [(ranges[name], expression) for name, expression in statements]


def products_of_units(design: Design) -> int:
    """Return the products in the units for sines and reciprocals."""
    program, facts = design.programs[0], design.manifest
    products = facts["trigonometry_units"] * len(program.trigonometry.multipliers)
    if program.reciprocal is not None:
        products += facts["reciprocal_units"] * len(program.reciprocal.multipliers)
    return products


def test_products_are_as_many_as_the_manifest_says(design: Design) -> None:
    block = target(design.manifest["target"]).primitive.name
    products = count(design.verilog, rf" \* |\b{block} #\(")
    assert products == design.manifest["multipliers"] + products_of_units(design)
    assert products == design.manifest["dsp_blocks"]


def test_no_operator_is_written_twice(design: Design) -> None:
    cells = {name: text for name, text in modules(design.verilog).items() if "_ecp5" not in name}
    for name, text in cells.items():
        counts = Counter(assignments(text))
        operators = [pair for pair in counts if re.search(r"[-+*<>&|^~]", pair[1]) and " ? " not in pair[1]]
        assert [pair for pair in operators if counts[pair] > 1] == [], name


def test_sums_are_those_of_the_program_and_their_rounding(design: Design) -> None:
    """A pipeline has at most one adder and one rounding adder per operation, and one per counter of slots."""
    if design.manifest["core"] != "pipeline":
        return
    regions = {entry["name"]: entry for entry in design.manifest["regions"]}
    for name, text in modules(design.verilog).items():
        entry = regions.get(name.removeprefix("accelerator_core_"))
        if entry is not None:
            sums = [
                expression for _, expression in assignments(text) if re.search(r"^[^?]* [-+] ", expression)
            ]
            assert len(sums) <= 2 * entry["operations"] + entry["multipliers"] + 1, name


def test_results_and_quantities_name_signals(design: Design) -> None:
    assert re.search(r"\bid_tau_[01](_s\d)?\b", design.verilog)
    assert re.search(r"\bq_1\b|word_\d", design.verilog)
    if design.manifest["core"] == "pipeline":
        assert re.search(r"\brnea_forward_1__omega_z\b", design.verilog)
        assert re.search(r"\brnea_forward_1__alpha_z\b", design.verilog)
