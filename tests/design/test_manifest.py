"""The typed manifest: the documented schema is current, and generated manifests follow it."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from rbdhw.config import BuildOptions
from rbdhw.design.manifest import schema, validate
from rbdhw.pipeline import generate
from rbdhw.robots import path

SCHEMA = Path(__file__).parents[2] / "docs" / "manifest.schema.json"

TOY = {"functions": ("id", "fd"), "width": 18, "samples": 256}


@pytest.fixture(scope="module", params=["pipeline", "array"])
def manifest(request):
    options = BuildOptions(**TOY, ii=8, core=request.param)
    return generate(path("toy"), options).manifest


def test_the_documented_schema_is_current():
    assert json.loads(SCHEMA.read_text()) == schema()


def test_every_key_has_a_type():
    """A key without a type would accept anything."""
    definitions = schema()["$defs"]
    for name, definition in definitions.items():
        for key, own in definition["properties"].items():
            assert own.keys() & {"type", "$ref", "anyOf", "enum", "allOf"}, f"{name}.{key}"


def test_generated_manifests_are_valid(manifest):
    assert validate(manifest) is manifest


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.pop("ii"),
        lambda facts: facts.update(extra=1),
        lambda facts: facts["stream"].update(tdata_width="wide"),
        lambda facts: facts["outputs"]["id"][0].pop("unit"),
    ],
)
def test_invalid_manifests_are_refused(manifest, change):
    changed = json.loads(json.dumps(manifest))
    change(changed)
    with pytest.raises(ValidationError):
        validate(changed)
