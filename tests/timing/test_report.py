"""The report on a netlist: the clock, the error on its safe side, and the slowest paths by place."""

import json
from pathlib import Path

import pytest

from rbdhw.errors import InputError
from rbdhw.timing.devices import FABRICS, Device, Fabric, device_of
from rbdhw.timing.ecp5 import ECP5
from rbdhw.timing.report import LARGEST_ERROR, MARGIN, check_timing
from rbdhw.timing.wires import Wires

DEVICE = Device("ecp5-85", Fabric(ECP5, Wires(1000.0, 0.0, 0.0, 0.0), {"6": 1.0}), "6")


def written(folder: Path, kind: str = "LUT4") -> Path:
    """Write a netlist with a path in each of two regions, of which the first has one more look-up table."""
    cells, nets = {}, {}

    def add(name: str, kind: str, **ports: int) -> None:
        connections = {port: [net] for port, net in ports.items()}
        cells[name] = {"type": kind, "parameters": {}, "connections": connections}
        nets[name] = {"bits": [list(ports.values())[-1]]}

    for joint, luts in (1, 3), (2, 2):
        first, region = joint * 10, f"core.rnea_forward_{joint}"
        add(f"{region}.q", "TRELLIS_FF", DI=first, Q=first + 1)
        for k in range(1, 1 + luts):
            add(f"{region}.a_{kind}_Z_{k}", kind, A=first + k, Z=first + k + 1)
        add(f"{region}.v", "TRELLIS_FF", DI=first + luts + 1, Q=first + 9)
    path = folder / "netlist.json"
    module = {"ports": {}, "cells": cells, "netnames": nets}
    path.write_text(json.dumps({"modules": {"top": module}}))
    return path


def test_the_slowest_paths_by_region(tmp_path: Path) -> None:
    report = check_timing(written(tmp_path), "top", DEVICE)
    slowest, other = report.regions
    assert (slowest.region, slowest.step, slowest.joint) == ("rnea_forward_1", "rnea_forward", 1)
    assert (slowest.start, slowest.end) == ("core.rnea_forward_1.q", "core.rnea_forward_1.v")
    assert (slowest.cells_ns, slowest.wires_ns, slowest.logic) == (0.525 + 3 * 0.236 + 0.13, 3.0, 3)
    assert (other.region, other.logic) == ("rnea_forward_2", 2)
    assert report.paths == report.regions
    assert report.clock_mhz == pytest.approx(1e3 / slowest.ns, abs=0.01)


def test_the_margin_is_on_the_safe_side(tmp_path: Path) -> None:
    report = check_timing(written(tmp_path), "top", DEVICE)
    assert report.safe_mhz == pytest.approx(report.clock_mhz / (1 + MARGIN), abs=0.01)
    assert report.confirms(report.safe_mhz)
    assert not report.confirms(report.clock_mhz)
    assert report.json()["error"]["max"] == LARGEST_ERROR < MARGIN
    assert json.loads(json.dumps(report.json()))["regions"][0]["joint"] == 1


def test_a_netlist_of_another_family_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "LUT6")
    with pytest.raises(InputError) as refusal:
        check_timing(path, "top", DEVICE)
    assert refusal.value.where == f"{path}, cell core.rnea_forward_1.a_LUT6_Z_1"
    assert refusal.value.reason == "LUT6 is not of this family"


def test_devices_and_their_grades() -> None:
    assert device_of("xcvu9p").slower == 1.0
    assert device_of("xck26").slower == pytest.approx(775 / 644)
    assert device_of("ecp5-85", "8").slower < device_of("ecp5-85", "7").slower < 1.0
    for fabric in FABRICS.values():
        assert 1.0 in fabric.grades.values()


@pytest.mark.parametrize(("part", "grade", "where"), [("xc9", None, "part"), ("xcvu9p", "-9", "speed-grade")])
def test_an_unknown_device_is_refused(part: str, grade: str | None, where: str) -> None:
    with pytest.raises(InputError) as refusal:
        device_of(part, grade)
    assert refusal.value.where == where
    assert refusal.value.reason == f"'{grade or part}' is unknown"
