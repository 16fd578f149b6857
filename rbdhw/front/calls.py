"""What the functions of :mod:`rbdhw` and the commands of the same names do."""

from __future__ import annotations

from pathlib import Path

from rbdhw import pipeline
from rbdhw.design import folder as design_folder
from rbdhw.design.manifest import read_manifest
from rbdhw.design.replacement import check_output
from rbdhw.domain.overrides import Overrides
from rbdhw.front.results import Description, Generated, Simulated
from rbdhw.front.robot_description import describe
from rbdhw.options.build import PROCESSORS, BuildOptions
from rbdhw.progress import show_progress
from rbdhw.software import folder as software_folder


def generate_folder(urdf: Path, folder: Path, options: BuildOptions, overrides: Overrides) -> Generated:
    """Write an accelerator or software to a folder."""
    check_output(folder)
    with show_progress() as progress:
        if options.target in PROCESSORS:
            software = pipeline.generate_software(urdf, options, progress)
            return Generated(software_folder.write(software, folder), folder)
        design = pipeline.generate(urdf, options, overrides, progress)
        return Generated(design_folder.write(design, folder), folder)


def describe_robot(urdf: Path, options: BuildOptions, overrides: Overrides) -> Description:
    """Describe a robot before a build."""
    with show_progress() as progress:
        return Description(describe(urdf, options, overrides, progress))


def simulate_folder(folder: Path, tasks: int, seed: int, *, bulk: bool) -> Simulated:
    """Run random tasks through the Verilog of a folder and compare each bit with its model."""
    from rbdhw.sim.simulate import simulate

    with show_progress() as progress:
        report = simulate(folder, tasks, seed, bulk=bulk, progress=progress)
    return Simulated(report.json(), read_manifest(folder), tuple(report.failures), tuple(report.warnings))
