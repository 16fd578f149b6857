"""The typed manifest: the documented schema is current, and generated manifests follow it."""

import json
from pathlib import Path

import pytest

from rbdhw.design.manifest import parse_manifest, schema
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions, Mounting, Pacing
from rbdhw.pipeline import generate
from rbdhw.robots import path

SCHEMA = Path(__file__).parents[2] / "docs" / "manifest.schema.json"

TOY = {"functions": ("id", "fd"), "width": 18, "samples": 32}

BUILDS = {
    "pipeline": {"ii": 8, "core": "pipeline"},
    "array": {"ii": 8, "core": "array"},
    "cheaper core": {"ii": 16, "core": "auto"},
    "chosen root": {"ii": 8, "mounting": Mounting(base="floating", root="auto"), "functions": ("id",)},
    "named root": {"ii": 8, "mounting": Mounting(base="floating", root="forearm"), "functions": ("id",)},
    "order of the file": {"ii": 8, "mounting": Mounting(joint_order="file")},
    "all by task": {
        "mounting": Mounting(base="given", gravity="task"),
        "fext": "all",
        "number": "float32",
        "pacing": Pacing(bandwidth=2.0),
        "functions": ("id",),
    },
    "as it fits": {"pacing": Pacing(link=False), "fit": 0.5, "target": "ecp5-85", "functions": ("id",)},
}


pytestmark = pytest.mark.usefixtures("without_verilog")


@pytest.fixture(scope="module", params=BUILDS)
def manifest(request):
    options = BuildOptions(**{**TOY, **BUILDS[request.param]})
    return generate(path("toy"), options).manifest


def test_the_documented_schema_is_current():
    assert json.loads(SCHEMA.read_text()) == schema()


def test_every_key_has_a_type():
    """A key without a type would accept anything."""
    definitions = schema()["$defs"]
    for name, definition in definitions.items():
        for key, entry in definition["properties"].items():
            assert entry.keys() & {"type", "$ref", "anyOf", "enum", "allOf"}, f"{name}.{key}"


def test_generated_manifests_are_valid(manifest):
    assert parse_manifest(manifest).data() == manifest


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
    with pytest.raises(InputError, match="expected what generate wrote"):
        parse_manifest(changed)


@pytest.mark.parametrize("change", [lambda facts: facts.pop("format"), lambda facts: facts.update(format=2)])
def test_manifests_of_another_format_are_refused(manifest, change):
    changed = dict(manifest)
    change(changed)
    known = changed.get("format", 1)
    with pytest.raises(InputError, match=f"format: {known}: its keys are others; expected 3; run `rbdhw gen"):
        parse_manifest(changed)
