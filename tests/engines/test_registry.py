"""The registry of engines: the documents and the front door say of them what it says."""

from pathlib import Path

import pytest

import rbdhw
from rbdhw.design.digests import digest_of
from rbdhw.design.folder import read
from rbdhw.engines.engine import Engine, Source
from rbdhw.engines.registry import answering_rollouts
from rbdhw.engines.table import ENGINES
from rbdhw.errors import InputError
from tests.support.documents import ROOT


def test_the_documents_have_the_table() -> None:
    rows = [
        f"| {', '.join(entry.folders)} | `{entry.name}` | {entry.title} | {entry.answers} |"
        for entry in ENGINES
    ]
    assert "\n".join(rows) in (ROOT / "docs" / "software.md").read_text(encoding="utf-8")


def test_the_front_door_names_all() -> None:
    assert [entry.name for entry in ENGINES if f"``{entry.name}``" not in (rbdhw.load.__doc__ or "")] == []


def test_an_engine_without_rollouts_is_refused(rail_folder: Path) -> None:
    source = Source(rail_folder, digest_of(rail_folder), read(rail_folder))

    class Tasks(Engine):
        check_optional = compute = None  # type: ignore[assignment]

    with pytest.raises(InputError) as refusal:
        answering_rollouts(Tasks("tasks", source))
    expected = (
        "rollout: engine 'tasks' answers none; expected one of model, numpy, rtl, driver, board, golden"
    )
    assert str(refusal.value) == expected
