"""Commands in the simulation, compared with the model bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.engines.packets import PacketEngine
from rbdhw.engines.words import Packets, Session
from rbdhw.model.packets import contents, responses
from rbdhw.model.responses import Words


def compare(
    design: Design, engine: PacketEngine, session: Session, packets: Sequence[Packets]
) -> Iterator[tuple[str, Words, int]]:
    """Send packets; yield the command of each, the model's answers, and the number of those that differ."""
    for (command, words), (status, results) in zip(packets, engine.converse(packets), strict=True):
        tags = np.arange(len(status))
        packed = responses(design, command, tags, *session.respond(command, words))
        right, expected = contents(design, command, packed)
        differ = [status != right, *(results[name] != number for name, number in expected.items())]
        yield command, expected, int(np.count_nonzero(np.any(differ, axis=0)))
