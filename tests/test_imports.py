"""The stages know only what lies below them: who may import whom, read from the sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rbdhw"

EVERYTHING = ("",)
FORMATS = (
    "fixed.format",
    "fixed.program",
    "fixed.polynomial",
    "fixed.recoding",
    "fixed.trigonometry",
    "fixed.reciprocal",
)

# Who may import what, as names below rbdhw. A name stands for itself and for all it contains; the longest
# key that fits a module is its rule. A folder may import itself, unless its rule is for one file.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "": (),
    "protocol": (),
    "errors": (),
    "bounds": (),
    "files": ("errors",),
    "digests": ("errors",),
    "progress": (),
    "collector": (),
    "plausibility": (),
    "remarks": ("errors",),
    "extras": ("errors",),
    "scalar": (),
    "config": ("errors", "bounds"),
    "target": ("errors",),
    "robot": ("errors", "bounds", "files", "remarks"),
    "robots": ("errors",),
    "dynamics": ("errors", "scalar", "robot"),
    "graph": ("errors", "scalar"),
    "passes": ("errors", "scalar", "graph"),
    "fixed": ("errors", "scalar", "protocol", "graph"),
    "schedule": ("errors", "scalar", "graph", "target", *FORMATS),
    "array": ("errors", "target", *FORMATS, "fixed.fusion"),
    "rtl": (
        "errors",
        "collector",
        "config",
        "scalar",
        "protocol",
        "target",
        *FORMATS,
        "fixed.floating",
        "fixed.fusion",
        "schedule.model",
        "array.model",
        "array.memories",
    ),
    "substitutes": ("errors", "plausibility", "remarks", "robot"),
    "domain": ("errors", "bounds", "files", "substitutes", "robot", "dynamics.joint", "fixed.lower"),
    "sampling": ("robot", "domain"),
    "strata": ("robot", "domain", "sampling", "sim.golden", "sim.errors"),
    "accuracy": ("config", "fixed.figures", "formats", "sim.errors"),
    "artifact": (
        "errors",
        "files",
        "digests",
        "config",
        "protocol",
        "robot",
        "domain",
        "fixed.floating",
        "fixed.program",
        "fixed.serialize",
    ),
    "sim": (
        "errors",
        "bounds",
        "files",
        "progress",
        "plausibility",
        "extras",
        "protocol",
        "robot",
        "domain",
        "sampling",
        "strata",
        "artifact",
        *FORMATS,
        "fixed.floating",
        "fixed.evaluate",
        "fixed.figures",
    ),
    # A second derivation: what it shared, one bug could break twice.
    "sim.reference": ("errors", "extras", "protocol", "robot"),
    "sim.golden": ("errors", "robot", "sim.spatial", "sim.system"),
    "sim.system": ("robot", "sim.spatial", "sim.joints"),
    "sim.joints": ("robot", "sim.spatial"),
    "sim.spatial": (),
    "boards": ("errors", "digests", "extras", "progress", "config", "target", "rtl"),
    "solvability": ("errors", "remarks", "robot", "sim.golden"),
    "mounting": ("errors", "config", "remarks", "robot"),
    "task": ("scalar", "robot", "dynamics"),
    "tracing": ("errors", "scalar", "protocol", "robot", "dynamics", "graph", "passes", "task"),
    "documents": ("errors", "files"),
    "operations": ("fixed.program",),
    "builds": EVERYTHING,
    "uniform": (
        "choice",
        "protocol",
        "robot",
        "domain",
        "tracing",
        "fixed.format",
        "sim.golden",
        "sim.errors",
    ),
    "choice": ("errors", "progress", "robot", "graph", "tracing"),
    "estimate": (
        "protocol",
        "target",
        *FORMATS,
        "fixed.fusion",
        "array.model",
        "array.memories",
        "schedule.model",
        "rtl.multiplexer",
        "rtl.packet",
        "rtl.admission",
        "rtl.completion",
        "rtl.domain_check",
        "rtl.merger",
    ),
    "link": ("protocol", "artifact"),
    "heading": ("artifact", "config", "domain", "robot"),
    "companions": ("artifact", "target", "sim"),
    "interval": ("errors", "bounds", "config", "target", "estimate", "link"),
    "cores": ("errors", "config", "target", "graph", "fixed.program", "schedule", "array", "estimate"),
    "limbs": ("errors", "graph", "robot", "fixed.program", "schedule.model", "estimate"),
    "preparation": (
        "errors",
        "collector",
        "progress",
        "remarks",
        "config",
        "target",
        "robot",
        "graph",
        "passes",
        "tracing",
        "choice",
    ),
    "formats": (
        "collector",
        "progress",
        "config",
        "protocol",
        "target",
        "robot",
        "graph",
        "passes",
        "fixed",
        "remarks",
        "domain",
        "sampling",
        "strata",
        "artifact",
        "sim",
        "preparation",
    ),
    "manifest": EVERYTHING,
    "planning": EVERYTHING,
    "assembly": ("artifact", "target", "rtl", "schedule.model", "array.model"),
    "description": EVERYTHING,
    "pipeline": EVERYTHING,
    "cli": EVERYTHING,
    "options": ("config", "protocol", "domain", "tracing", "choice"),
    "printing": ("estimate.model", "link"),
    "__main__": ("cli",),
    "bench": EVERYTHING,
    "calibrate": EVERYTHING,
    "comparison": EVERYTHING,
    "explore": EVERYTHING,
    "plot": ("errors", "files", "extras", "estimate.model", "interval"),
    "examination": EVERYTHING,
    "sweep": EVERYTHING,
}

# Libraries that stay in their corner.
USED_ONLY_IN: dict[str, tuple[str, ...]] = {
    "amaranth": ("rtl", "boards"),
    "amaranth_boards": ("boards",),
    "cocotb": ("sim",),
    "cocotb_tools": ("sim",),
    "matplotlib": ("plot",),
    "pinocchio": ("sim.reference",),
}


def within(name: str, folder: str) -> bool:
    """Whether the dotted ``name`` is ``folder`` or lies in it; everything lies in ''."""
    return not folder or name == folder or name.startswith(folder + ".")


def imports(source: str, package: str) -> list[str]:
    """Every name that ``source``, a module of the dotted ``package``, imports, as a full dotted name."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names += [f"{base}.{alias.name}" for alias in node.names]
    return names


def violations(module: str, source: str, *, is_package: bool = False) -> list[str]:
    """What ``source`` would break as ``rbdhw.<module>``, a line each."""
    full = f"rbdhw.{module}".rstrip(".")
    stage = max((key for key in MAY_IMPORT if key and within(module, key)), key=len, default="")
    if module and not stage:
        return [f"{full} has no rule: say in MAY_IMPORT what it may import"]
    own = (stage,) if stage and "." not in stage else ()
    broken = []
    for name in imports(source, full if is_package else full.rpartition(".")[0]):
        top, _, inside = name.partition(".")
        if top == "rbdhw":
            allowed = any(within(inside, rule) for rule in (*own, *MAY_IMPORT[stage]))
        else:
            allowed = top not in USED_ONLY_IN or any(within(module, user) for user in USED_ONLY_IN[top])
        if not allowed:
            broken.append(f"{full} may not import {name}")
    return broken


def modules() -> dict[str, Path]:
    """Every module of the package by its name below rbdhw; the linked folders are looked into."""
    files = list(PACKAGE.glob("*.py"))
    for folder in PACKAGE.iterdir():
        if folder.is_dir():
            files += folder.rglob("*.py")
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip("."): path
        for path in sorted(files)
    }


MODULES = modules()


@pytest.mark.parametrize("module", MODULES)
def test_module_keeps_to_its_stage(module: str) -> None:
    path = MODULES[module]
    assert violations(module, path.read_text(), is_package=path.name == "__init__.py") == []


@pytest.mark.parametrize("folder", ["sim", "boards", "robots"])
def test_top_level_folder_is_linked_into_the_package(folder: str) -> None:
    assert (PACKAGE / folder).resolve() == ROOT / folder
    assert folder in MODULES


@pytest.mark.parametrize(
    ("module", "source", "offender"),
    [
        ("robot.document", "import rbdhw.dynamics.rnea", "rbdhw.dynamics.rnea"),
        ("target", "from rbdhw.schedule import model", "rbdhw.schedule.model"),
        ("dynamics.rnea", "from rbdhw.graph.trace import trace", "rbdhw.graph.trace.trace"),
        ("graph.trace", "def f():\n    from rbdhw import dynamics", "rbdhw.dynamics"),
        ("passes.folding", "from ..fixed.format import Format", "rbdhw.fixed.format.Format"),
        ("fixed.format", "from rbdhw.target import Target", "rbdhw.target.Target"),
        ("schedule.model", "from rbdhw.fixed.search import search", "rbdhw.fixed.search.search"),
        ("rtl.top", "from rbdhw.schedule.list_scheduler import solve", "rbdhw.schedule.list_scheduler.solve"),
        ("rtl.top", "import rbdhw", "rbdhw"),
        ("sim.golden", "from rbdhw.sim.streams import put", "rbdhw.sim.streams.put"),
        ("sim.bench", "from amaranth.hdl import Module", "amaranth.hdl.Module"),
        ("rtl.region", "import cocotb", "cocotb"),
        ("pipeline", "import amaranth", "amaranth"),
    ],
)
def test_violation_is_named(module: str, source: str, offender: str) -> None:
    assert violations(module, source) == [f"rbdhw.{module} may not import {offender}"]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rtl.top", "from rbdhw.fixed import format, program"),
        ("rtl.top", "from .region import RegionComponent\nfrom amaranth.hdl import Module"),
        ("schedule.verify", "from ..graph.graph import Graph"),
        ("pipeline", "import rbdhw.schedule.list_scheduler, rbdhw.rtl.top"),
    ],
)
def test_allowed_import_passes(module: str, source: str) -> None:
    assert violations(module, source) == []


def test_module_without_a_rule_is_refused() -> None:
    expected = ["rbdhw.codegen.top has no rule: say in MAY_IMPORT what it may import"]
    assert violations("codegen.top", "") == expected
