"""The kinds of cores, by the names that ``--core`` takes."""

from rbdhw.cores.array import ArrayCore
from rbdhw.cores.chain import ChainCore
from rbdhw.cores.core import Core
from rbdhw.cores.loop import LoopCore
from rbdhw.cores.pipeline import PipelineCore

KINDS: dict[str, type[Core]] = {kind.name: kind for kind in (PipelineCore, ArrayCore, ChainCore, LoopCore)}
