"""Leave out what steps of sweeps hand on although no result depends on it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rbdhw.graph.sweeps import Carried, Kept, Sweep, Sweeps
from rbdhw.passes.prune import prune


def leave_out_unread(sweeps: Sweeps) -> Sweeps:
    """Return sweeps with those outputs only on which a result depends, and the sources of their inputs."""
    outputs = {name for sweep in sweeps.sweeps for name, _ in sweep.step.outputs if sweeps.is_result(name)}
    while True:
        steps = tuple(_with_outputs(sweep, outputs) for sweep in sweeps.sweeps)
        sources = {name: sweeps.sources[name] for sweep in steps for name in sweep.step.inputs}
        read = {source.output for source in sources.values() if isinstance(source, Carried | Kept)}
        if read <= outputs:
            return replace(sweeps, sweeps=steps, sources=sources)
        outputs |= read


def _with_outputs(sweep: Sweep, names: Collection[str]) -> Sweep:
    outputs = tuple(pair for pair in sweep.step.outputs if pair[0] in names)
    return replace(sweep, step=prune(replace(sweep.step, outputs=outputs)))
