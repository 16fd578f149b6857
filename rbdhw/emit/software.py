"""The software of a prepared robot: sources and manifest."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from rbdhw.design.software_manifest import ArrayEntry, SoftwareFunction, SoftwareManifest, SolverEntry
from rbdhw.emit.manifest import (
    algorithm_entries,
    coordinates_entry,
    operation_counts,
    robot_entry,
    root_entries,
)
from rbdhw.frontend.build_graph import Model
from rbdhw.frontend.solver_steps import SolverGraphs
from rbdhw.protocol import steps_with
from rbdhw.robot.reroot import RootTrial
from rbdhw.software.cuda import cuda_files
from rbdhw.software.floating import Source, dynamics_files, float_arrays
from rbdhw.software.folder import Software
from rbdhw.software.solver import solver_files


def emit_software(
    model: Model,
    sources: Sequence[Source],
    target: str,
    roots: Sequence[RootTrial] = (),
    solver: tuple[SolverGraphs, SolverEntry] | None = None,
) -> Software:
    """Return the software of the functions of a prepared robot for a target; ``roots`` were compared."""
    robot = model.source
    inputs = {name for source in sources for name in source.graph.inputs}
    manifest = SoftwareManifest(
        target="cuda" if target == "cuda" else "c",
        robot=robot_entry(robot),
        functions={source.function: _function_entry(model, source) for source in sources},
        solver=solver[1] if solver else None,
        fext=list(model.fext),
        algorithms={**algorithm_entries(model.choice), "rewrites": list(model.rewrites)},
        coordinates=coordinates_entry(robot, inputs),
        versions={name: version(name) for name in ("rbdhw", "numpy")},
        remarks=[*robot.remarks, *model.remarks],
        roots=root_entries(roots),
    )
    write = cuda_files if target == "cuda" else dynamics_files
    texts = write(robot, sources, model.fext)
    if solver:
        graphs, entry = solver
        taken, _ = steps_with(contacts=bool(robot.contacts.places))
        step = next(source.graph for source in sources if source.function == taken)
        texts |= solver_files(robot, step, graphs, entry.knots, entry.alphas)
    return Software(robot, texts, manifest.data())


def _function_entry(model: Model, source: Source) -> SoftwareFunction:
    """Return the entry on a function: its operations and its arrays."""
    inputs, outputs = (
        [
            ArrayEntry(name=array.name, shape=list(array.shape), unit=array.meaning, optional=array.optional)
            for array in arrays
        ]
        for arrays in float_arrays(
            model.source, source.function, bool(model.fext), source.extended is not None
        )
    )
    return SoftwareFunction(**dict(operation_counts(source.graph)), inputs=inputs, outputs=outputs)
