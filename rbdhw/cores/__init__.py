"""The kinds of cores, by the names that ``--core`` takes."""

from rbdhw.cores.array.core import ArrayCore
from rbdhw.cores.core import Core
from rbdhw.cores.pipeline.core import PipelineCore
from rbdhw.cores.steps.chain import ChainCore
from rbdhw.cores.steps.loop import LoopCore

KINDS: dict[str, type[Core]] = {kind.name: kind for kind in (PipelineCore, ArrayCore, ChainCore, LoopCore)}
