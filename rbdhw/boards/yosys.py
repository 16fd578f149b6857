"""Synthesis with Yosys: the resources of a design on a device, without placement."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rbdhw.boards.tools import ToolError, find_tool, run_tool
from rbdhw.estimate.resources import Resources
from rbdhw.progress import Progress, silent, within
from rbdhw.target import target as find_target
from rbdhw.timing.devices import Device, device_of
from rbdhw.timing.report import TimingReport, check_timing


@dataclass(frozen=True)
class Family:
    """The synthesis of one device family in Yosys, and the resources of each cell of its library."""

    script: str
    """The synthesis command, which accepts ``-top`` and ``-run``."""
    behind_memories: str
    """The label of that command after the mapping of memories."""
    luts: Mapping[str, int]
    """Look-up tables of one cell, by cell type."""
    flip_flops: frozenset[str]
    """The cell types that are flip-flops."""
    dsp_blocks: frozenset[str]
    block_rams: Mapping[str, float]
    """Block RAMs of one cell, by cell type."""
    wire: int = 0
    """The delay (ps) of a wire beside the cells of 7 series, for the mapping of logic; 0 for Yosys' own."""
    delays: str = ""
    """The file beside this one with delays of blocks of which Yosys knows none, for the mapping of logic."""


# Wires: Yosys takes 300 ps, with which logic outside of its longest paths becomes up to twice as deep as it
# need be. By the timing check a wire takes 500 to 900 ps in 7 series, and in UltraScale+ 170 to 500 ps, where
# cells take about half as long as those with which Yosys maps. The check permits the `dfd` of an iiwa14 at an
# interval of 1 lower clocks with 1,000 to 1,400 ps, and no higher ones with 2,600 ps.
# Sources: UG574 (configurable logic block) and FPGA-TN-02204 (ECP5 memory). A distributed RAM of ECP5 takes
# four LUTs for its words and two more for its write port; a carry cell takes two LUTs.
ULTRASCALE_PLUS = Family(
    script="synth_xilinx -family xcup -flatten -noiopad -noclkbuf",
    behind_memories="fine",
    luts={
        **{f"LUT{inputs}": 1 for inputs in range(1, 7)},
        **dict.fromkeys(("INV", "SRL16E", "SRLC16E", "SRLC32E", "RAM32X1S", "RAM64X1S"), 1),
        **dict.fromkeys(("RAM128X1S", "RAM32X1D", "RAM64X1D"), 2),
        **dict.fromkeys(("RAM256X1S", "RAM128X1D", "RAM32M", "RAM64M"), 4),
        **dict.fromkeys(("RAM512X1S", "RAM256X1D", "RAM32M16", "RAM64M8"), 8),
    },
    flip_flops=frozenset({"FDRE", "FDSE", "FDCE", "FDPE", "LDCE", "LDPE"}),
    dsp_blocks=frozenset({"DSP48E2"}),
    block_rams={"RAMB36E2": 1.0, "RAMB18E2": 0.5},
    wire=2000,
    delays="ultrascale_plus.v",
)
SERIES_7 = replace(
    ULTRASCALE_PLUS,
    script="synth_xilinx -family xc7 -flatten -noiopad -noclkbuf",
    dsp_blocks=frozenset({"DSP48E1"}),
    block_rams={"RAMB36E1": 1.0, "RAMB18E1": 0.5},
    wire=1000,
    delays="",
)
ECP5 = Family(
    script="synth_ecp5",
    behind_memories="map_gates",
    luts={"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6},
    flip_flops=frozenset({"TRELLIS_FF"}),
    dsp_blocks=frozenset({"MULT18X18D"}),
    block_rams={"DP16KD": 1.0, "PDPW16KD": 1.0},
)

FAMILIES: Mapping[str, Family] = {"ecp5": ECP5, "xc7": SERIES_7, "xcup": ULTRASCALE_PLUS}
"""Families by :attr:`rbdhw.target.Target.family`."""


NETLIST = "netlist.json"
TIMING = "timing.json"

LARGE = 3_000_000
"""The characters of Verilog from which on logic is mapped without optimisation, which would take hours."""

STEP = "synthesis with Yosys"
"""The name of the Yosys step in the progress."""

_PASS = re.compile(r"^(\d[\d.]*)\. Executing (\w+)", re.MULTILINE)

OPERAND_MEMORY = "operand_memory"
DELAY_LINE = "_bypass_"
"""Parts of the names of an array's operand memories, and of delay lines in memories."""


def synthesize_target(
    sources: Sequence[Path],
    top: str,
    family: Family,
    work: Path,
    *,
    netlist: bool = False,
    progress: Progress = silent,
) -> Resources:
    """Map module ``top`` of the Verilog files ``sources`` to ``family`` and count its resources.

    The hierarchy is flattened, and no pads are inserted. ``work`` is created and keeps the script
    (``synthesis.ys``), the log (``synthesis.log``), the statistics (``resources.json``) and, on request, the
    ``netlist`` (:data:`NETLIST`). Raises InputError if Yosys is missing,
    :class:`~rbdhw.boards.tools.ToolError` if it fails.
    """
    progress(STEP)
    work.mkdir(parents=True, exist_ok=True)
    script = work / "synthesis.ys"
    # The YoWASP programs have a /tmp of their own, so absolute paths cannot be used.
    files = [os.path.relpath(source.resolve(), work.resolve()) for source in sources]
    commands = [
        *(f'read_verilog "{file}"' for file in files),
        *synthesis(family, top, [source.read_text() for source in sources]),
        "tee -q -o resources.json stat -json",
        *([f"write_json {NETLIST}"] if netlist else []),
    ]
    script.write_text("".join(f"{command}\n" for command in commands))
    if family.delays:
        shutil.copy(Path(__file__).with_name(family.delays), work)
    log = work / "synthesis.log"
    run_tool(
        "yosys",
        [find_tool("yosys"), "-q", "-l", log.name, script.name],
        folder=work,
        log=log,
        progress=within(STEP, progress),
        state=state_of,
    )
    return count_resources((work / "resources.json").read_text(), family)


def time_netlist(work: Path, top: str, device: Device, progress: Progress = silent) -> TimingReport:
    """Return the timing of the netlist of module ``top`` in ``work``, which keeps it (:data:`TIMING`)."""
    progress("timing of the netlist")
    report = check_timing(work / NETLIST, top, device)
    (work / TIMING).write_text(json.dumps(report.json(), indent=2) + "\n")
    return report


def time_verilog(verilog: str, top: str, target: str, progress: Progress = silent) -> TimingReport:
    """Return the timing of module ``top`` of a Verilog text, mapped to a target.

    Raises InputError if Yosys is missing, or the check does not know the target.
    """
    device = device_of(target)
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        source = Path(folder) / f"{top}.v"
        source.write_text(verilog, encoding="utf-8")
        family = FAMILIES[find_target(target).family]
        synthesize_target((source,), top, family, source.parent, netlist=True, progress=progress)
        return time_netlist(source.parent, top, device, progress)


def state_of(log: str) -> str | None:
    """Return the number and name of the pass that Yosys runs, from the end of its log."""
    passes = _PASS.findall(log)
    return f"pass {passes[-1][0]}, {passes[-1][1]}" if passes else None


def synthesis(family: Family, top: str, texts: Sequence[str]) -> list[str]:
    """Return the commands that map a design with these Verilog texts.

    The modules of an array's memories stay separate until they are mapped: in a flattened design Yosys takes
    seconds for each of them.
    """
    until, timed = "", list[str]()
    if family.delays:
        until = "map_luts"
        timed = [
            f"read_verilog -lib -specify -overwrite {family.delays}",
            f"{family.script} -run {until}:",
        ]
    wires = [f"scratchpad -set synth_xilinx.abc9.W {family.wire}"] if family.wire else []
    if not _is_array(texts):
        hurry = ["scratchpad -copy abc9.script.default.fast abc9.script"] if speed_up(texts) else []
        stop = f" -run :{until}" if until else ""
        return [*hurry, *wires, f"{family.script} -top {top}{stop}", *timed]
    apart = f"*{OPERAND_MEMORY}* *{DELAY_LINE}*"
    return [
        *wires,
        f"setattr -mod -set keep_hierarchy 1 {apart}",
        f"{family.script} -top {top} -run :{family.behind_memories}",
        f"setattr -mod -unset keep_hierarchy {apart}",
        "flatten",
        f"{family.script} -run {family.behind_memories}:{until}",
        *timed,
    ]


def speed_up(texts: Sequence[str]) -> bool:
    """Return whether the logic of a design with these Verilog texts is mapped without optimisation.

    Without optimisation it takes some more look-up tables.
    """
    return sum(map(len, texts)) >= LARGE and not _is_array(texts)


def _is_array(texts: Sequence[str]) -> bool:
    return any(OPERAND_MEMORY in text for text in texts)


def count_resources(statistics: str, family: Family) -> Resources:
    """Add up the cells in the output of Yosys' ``stat -json`` for a whole design.

    Raises :class:`~rbdhw.boards.tools.ToolError` if a cell remains that is not in the device's library.
    """
    cells: dict[str, int] = json.loads(statistics)["design"]["num_cells_by_type"]
    unmapped = sorted(cell for cell in cells if cell.startswith("$") and cell != "$scopeinfo")
    if unmapped:
        raise ToolError(f"yosys left cells that the device does not have: {', '.join(unmapped)}")
    return Resources(
        luts=sum(count * family.luts.get(cell, 0) for cell, count in cells.items()),
        flip_flops=sum(count for cell, count in cells.items() if cell in family.flip_flops),
        dsp_blocks=sum(count for cell, count in cells.items() if cell in family.dsp_blocks),
        block_rams=math.ceil(sum(count * family.block_rams.get(cell, 0.0) for cell, count in cells.items())),
    )
