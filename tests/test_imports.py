"""The layers of the package: each stage imports only lower stages, as read from the sources."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rbdhw"

FORMATS = "fixed.format fixed.program fixed.polynomial fixed.recoding fixed.trigonometry fixed.reciprocal"

STEPS = "fixed.step_program graph.sweeps"
"""Programs of steps."""

ROLLOUTS = "fixed.cost fixed.feedback fixed.state_error fixed.rollout fixed.softmin"

SOLVER = "fixed.knots fixed.scaled fixed.solver fixed.solver_numbers fixed.wide_state fixed.descent"

EVERYTHING = "*"
"""The stages that only the pipeline and the command line may import."""

# Who may import what, as names below rbdhw. A name stands for itself and for all it contains; the longest
# key that fits a module is its rule. A folder may import itself, unless its rule is for one file.
MAY_IMPORT = {
    "": "front options page.write",
    "errors": "",
    "header": "",
    "progress": "",
    "protocol": "",
    "solving": "",
    "verilog_names": "errors",
    "arrays": "protocol",
    "scalar": "",
    "remarks": "errors",
    "runtime": "errors",
    "registers": "",
    "options.build": "errors protocol verilog_names robot.mounting",
    "options": (
        "errors runtime protocol verilog_names target board "
        "robot.mounting robot.model robot.drives robot.loops graph.knots"
    ),
    "options.arguments": "errors protocol board domain.overrides options",
    "delays": "",
    "target": "errors delays",
    "board": "errors",
    "robot": "errors remarks runtime",
    "robots": "errors",
    # A second derivation: what it shared with the first, one bug could break twice.
    "golden": "errors arrays protocol solving robot",
    "golden.spatial": "",
    "golden.error_norm": "arrays protocol robot.model",
    "golden.pinocchio": "errors runtime arrays protocol robot",
    "dynamics": "errors scalar robot",
    "graph": "errors scalar",
    "passes": "errors scalar graph",
    "frontend": (
        "errors remarks progress runtime options delays target arrays protocol scalar robot golden "
        "dynamics graph passes"
    ),
    "fixed": "errors scalar arrays protocol graph robot.wide_joints",
    "model.interface": (
        "options.build header arrays protocol fixed.program fixed.rollout fixed.single_precision fixed.solver"
    ),
    "domain": (
        "errors remarks runtime arrays protocol robot golden dynamics.integration dynamics.joint fixed.lower"
    ),
    "schedule": (
        f"errors scalar graph delays target {FORMATS} fixed.block_sum fixed.pre_sum fixed.step_program"
    ),
    "rtl": (
        "errors verilog_names runtime registers.map model.interface scalar header arrays protocol delays "
        f"target {FORMATS} fixed.single_precision {ROLLOUTS} fixed.scaled fixed.solver fixed.normal "
        f"fixed.fusion fixed.pre_sum schedule.model {STEPS} estimate.fabric"
    ),
    "estimate": "target",
    "estimate.energy": "target fixed.program",
    "model": (
        "errors runtime header arrays protocol solving robot graph.knots graph.sweeps golden domain "
        f"fixed.format fixed.program {ROLLOUTS} {SOLVER} fixed.normal fixed.angles fixed.single_precision "
        "fixed.evaluate"
    ),
    "design": (
        "errors verilog_names runtime options.build header arrays protocol robot domain model "
        "fixed.rollout fixed.program fixed.serialize fixed.knots"
    ),
    "software": (
        "errors progress runtime options.build header arrays protocol solving robot golden graph passes "
        "fixed frontend domain model design"
    ),
    "cores": (
        "errors remarks progress options delays target arrays protocol solving scalar robot graph passes "
        f"frontend {FORMATS} {ROLLOUTS} {SOLVER} fixed.block_sum fixed.exact_sums fixed.fusion "
        "fixed.step_program model.interface domain quantize design.entries schedule rtl estimate"
    ),
    "verilator": "errors runtime model.packets design rtl.simulation_models software.compiler",
    "sim": (
        "errors progress runtime protocol solving golden domain fixed.format fixed.figures model "
        "design verilator engines software.exact_library estimate.energy target"
    ),
    "quantize": (
        "errors remarks progress runtime options.build target arrays protocol scalar robot "
        "golden graph passes frontend fixed domain model"
    ),
    "boards": (
        "errors verilog_names remarks progress runtime options.build target board packages registers.map rtl "
        "timing estimate.fit estimate.resources design.digests design.manifest design.replacement"
    ),
    "packages": "errors runtime design registers.map",
    # It shares nothing with the scheduler, whose clock it checks.
    "timing": "errors",
    "explore": (
        "errors remarks progress runtime options target arrays protocol robot graph passes "
        "frontend fixed.gains fixed.program fixed.search domain model schedule rtl estimate "
        "cores design.entries quantize"
    ),
    "driver": (
        "errors runtime header arrays protocol fixed.program fixed.rollout model design software "
        "verilator.simulator"
    ),
    "emit": (
        "errors verilog_names options.build target header arrays protocol scalar robot golden graph "
        "passes frontend.algorithms frontend.build_graph fixed domain model "
        "rtl.simulation_models registers.map estimate cores design quantize explore software "
        "frontend.solver_steps"
    ),
    "engines": (
        "errors remarks runtime options.build protocol robot golden fixed.format fixed.normal model design "
        "software verilator driver"
    ),
    "page": (
        "errors runtime target header arrays protocol robot design fixed.figures model.interface "
        "registers.map emit.registers control.table"
    ),
    "control.optimiser": "",
    "control.table": "",
    "control": (
        "errors remarks progress runtime options.build header arrays protocol robot golden domain "
        "fixed.format frontend model design software emit.software engines cores.checks explore.search "
        "pipeline"
    ),
    "pipeline": EVERYTHING,
    "front": EVERYTHING,
    "cli": EVERYTHING,
    "crocoddyl": "errors front.accelerator header protocol robot.model",
    "__main__": "cli",
}

# Libraries that stay in their corner.
USED_ONLY_IN: dict[str, tuple[str, ...]] = {
    "amaranth": ("rtl", "cores", "boards"),
    "amaranth_boards": ("boards",),
    "cocotb": ("verilator",),
    "cocotb_tools": ("verilator",),
    "crocoddyl": ("crocoddyl",),
    "distributed": ("runtime.executor",),
    "liteeth": ("boards.udp_core",),
    "litex": ("boards.udp_core",),
    "matplotlib": ("explore.plot", "page"),
    "migen": ("boards.udp_core",),
    "peakrdl_cheader": ("registers.export",),
    "peakrdl_html": ("registers.export",),
    "peakrdl_ipxact": ("registers.export",),
    "peakrdl_markdown": ("registers.export",),
    "peakrdl_python": ("registers.export",),
    "pinocchio": ("golden.pinocchio", "crocoddyl"),
    "systemrdl": ("registers.export",),
}


def within(name: str, folder: str) -> bool:
    """Return whether the dotted ``name`` is ``folder`` or inside it; every name is inside '*'."""
    return folder == "*" or name == folder or name.startswith(folder + ".")


@cache
def imports(source: str, package: str) -> list[str]:
    """Return the full dotted names that ``source``, a module of the dotted ``package``, imports."""
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
    """Return the violations of ``source`` as ``rbdhw.<module>``, one line each."""
    full = f"rbdhw.{module}".rstrip(".")
    stage = max((key for key in MAY_IMPORT if key and within(module, key)), key=len, default="")
    if module and not stage:
        return [f"{full} has no rule: say in MAY_IMPORT what it may import"]
    rules = MAY_IMPORT[stage].split() + [stage] * (bool(stage) and "." not in stage)
    broken = []
    for name in imports(source, full if is_package else full.rpartition(".")[0]):
        top, _, inside = name.partition(".")
        if top == "rbdhw":
            allowed = any(within(inside, rule) for rule in rules)
        else:
            allowed = top not in USED_ONLY_IN or any(within(module, user) for user in USED_ONLY_IN[top])
        if not allowed:
            broken.append(f"{full} may not import {name}")
    return broken


def modules() -> dict[str, Path]:
    """Return every module of the package by its name below rbdhw."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip("."): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


MODULES = modules()


def test_modules_keep_to_their_stages() -> None:
    broken = [
        line
        for module, path in MODULES.items()
        for line in violations(module, path.read_text(), is_package=path.name == "__init__.py")
    ]
    assert broken == []


def imported_by_stage() -> dict[str, set[str]]:
    """Return the stages that each stage (a folder or a top-level module) imports."""
    imported: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        stage = module.partition(".")[0]
        full = f"rbdhw.{module}".rstrip(".")
        package = full if path.name == "__init__.py" else full.rpartition(".")[0]
        names = (name.split(".") for name in imports(path.read_text(), package))
        imported.setdefault(stage, set()).update(name[1] for name in names if name[0] == "rbdhw" and name[1:])
    return {stage: others - {stage} for stage, others in imported.items() if stage}


def test_stages_import_each_other_in_no_circle() -> None:
    assert list(TopologicalSorter(imported_by_stage()).static_order())[-1] == "__main__"


def test_a_circle_is_found() -> None:
    with pytest.raises(CycleError):
        list(TopologicalSorter(imported_by_stage() | {"errors": {"pipeline"}}).static_order())


@pytest.mark.parametrize("folder", ["sim", "boards", "robots"])
def test_folder_of_the_package_is_linked_at_the_top(folder: str) -> None:
    assert not (PACKAGE / folder).is_symlink()
    assert (ROOT / folder).resolve() == PACKAGE / folder
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
        ("golden.dynamics", "from rbdhw.dynamics.rnea import rnea", "rbdhw.dynamics.rnea.rnea"),
        ("verilator.bench", "from amaranth.hdl import Module", "amaranth.hdl.Module"),
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


def test_no_test_imports_another() -> None:
    """What several tests need is in ``tests/support``."""
    other = re.compile(r"^from tests\S*\.(?:test_\w+|conftest) |^from tests\S* import test_", re.MULTILINE)
    assert [file.name for file in (ROOT / "tests").rglob("*.py") if other.search(file.read_text())] == []
