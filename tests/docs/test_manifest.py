"""The page on the manifest lists every key that designs have, and no other."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from rbdhw.design.folder import write
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design, generate
from rbdhw.robots import path
from tests.support.documents import ROOT, text
from tests.support.limbs import limbed

pytestmark = pytest.mark.usefixtures("without_verilog")

SAME = {"optional_inputs.*": "inputs.*", "optional_outputs.*": "outputs.*"}
"""Keys that the page describes by others."""

LOADS = {
    "functions": ("m",),
    "ii": 4,
    "width": 18,
    "mounting": Mounting(parameters="payload"),
    "parameters_by": "load",
    "parameter_sets": 2,
}

TOUCHING = Mounting(
    contacts=(("tip", "surface"),), loops=(("strut", "forearm", "base@0.5:0:1"),), contact_gains="task"
)

BUILDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("toy", {"functions": ("did", "difd"), "ii": 2, "max_error": {"did": 1e-4}}),
    ("toy", {"functions": ("id",), "ii": 16, "core": "auto", "width": 18, "streams": 2, "data_width": 64}),
    ("toy", {"functions": ("fd",), "ii": 4, "core": "chain", "width": 18}),
    ("toy", {"functions": ("sid", "kin"), "ii": 4, "width": 18, "mounting": Mounting(frames=("tip",))}),
    ("toy", {"functions": ("dstep",), "ii": 4, "width": 18, "mounting": Mounting(time_step=0.002)}),
    ("toy", {"functions": ("rk4",), "ii": 4, "width": 18, "share_stages": "loop", "stream_clock_mhz": 50.0}),
    ("toy", {"functions": ("rollout",), "ii": 4, "width": 18, "rollout": ("samples", "gains"), "hold": 2}),
    ("toy", {"functions": ("solve",), "ii": 8, "width": 18, "knots": 2, "alphas": 1, "problems": 2}),
    ("toy", {"functions": ("solve",), "ii": 8, "width": 18, "knots": 2, "alphas": 1, "blocks": 2}),
    ("toy", {"functions": ("mppi",), "ii": 4, "width": 18, "horizon": 4, "cost_rows": 1}),
    ("toy", LOADS),
    ("toy", {"functions": ("impulse",), "ii": 4, "width": 18, "mounting": TOUCHING}),
    ("toy", {"functions": ("m",), "ii": 4, "width": 18, "mounting": Mounting("floating", root="auto")}),
    (
        "toy",
        {"functions": ("fd",), "ii": 4, "width": 18, "prove": True}
        | {"algorithms": {"inverse": "single_pivots", "products": "solves"}},
    ),
    ("limbed", {"functions": ("id",), "ii": 4, "width": 18, "confidence": 0.5, "prove": True}),
)


@pytest.fixture(scope="module")
def documented() -> set[str]:
    first = re.findall(r"^\| (`.*?) \|", text(ROOT / "docs" / "manifest.md"), re.MULTILINE)
    keys = {key for cell in first for key in re.findall(r"`([^`]+)`", cell)}
    return {key for key in keys if re.fullmatch(r"[a-z0-9_.*\[\]]+", key)} - _files()


def _files() -> set[str]:
    """What the page's first table lists: files, not keys."""
    table = text(ROOT / "docs" / "manifest.md").partition("`manifest.json` is one object")[0]
    return set(re.findall(r"`([^`]+)`", table))


def parents(keys: set[str]) -> set[str]:
    """Keys with more documented below them."""
    steps = [re.findall(r"\[\]|[^.\[\]]+", key) for key in keys]
    return {_joined(parts[:k]) for parts in steps for k in range(len(parts))}


def _joined(steps: list[str]) -> str:
    return ".".join(steps).replace(".[]", "[]")


def walk(value: Any, key: str, keys: set[str], inner: set[str]) -> Iterator[str]:
    """The documented keys of all that is in ``value``; a key that is not documented as it is."""
    key = SAME.get(key, key)
    if isinstance(value, dict) and key in inner:
        for name, item in value.items():
            steps = [f"{key}.{step}".lstrip(".") for step in (name, "*")]
            known = [step for step in steps if step in keys | inner | set(SAME)]
            yield from walk(item, known[0] if known else steps[0], keys, inner)
    elif isinstance(value, list) and f"{key}[]" in inner:
        for item in value:
            yield from walk(item, f"{key}[]", keys, inner)
    elif value is not None or key not in inner:
        yield key


def test_every_key_is_described(documented: set[str], tmp_path: Any) -> None:
    keys = set()
    inner = parents(documented)
    for k, (robot, options) in enumerate(BUILDS):
        build = BuildOptions(samples=128, **options)
        if robot == "limbed":
            design = build_design(limbed(2, 1, seed=7, trunk=True), build)
        else:
            design = generate(path(robot), build)
        manifest = write(design, tmp_path / str(k))
        keys |= set(walk(manifest, "", documented, inner))
    assert keys - documented == set()
    assert documented - keys - set(SAME) == set()
