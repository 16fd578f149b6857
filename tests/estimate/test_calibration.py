"""The table in the repository: its weights and errors follow from its designs and bound the estimates."""

from collections import Counter

import pytest

from benchmarks.synthesis import error_rows, rows, subject_of, subjects
from rbdhw.emit.manifest import estimate_entry
from rbdhw.estimate.calibration import (
    COUNTED,
    PARTS,
    TABLE,
    WEIGHED,
    Calibration,
    Sample,
    calibration,
    fit_calibration,
    fit_weights,
    weigh,
)
from rbdhw.estimate.model import load, shares, short_of
from rbdhw.estimate.resources import RESOURCES, Resources
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.target import target

KEPT = calibration()


def made_up(luts, flip_flops, measured, robot="toy"):
    """Return a design with these numbers of arithmetic and waiting cells, and Yosys' counts of them."""
    nothing = dict.fromkeys(PARTS, (0.0, 0.0, 0.0))
    parts = nothing | {"arithmetic": (luts, 0.0, 0.0), "waiting": (0.0, flip_flops, 1.2)}
    counted = dict(zip(RESOURCES, measured, strict=True))
    return Sample(
        robot=robot, functions=("id",), ii=1, width=18, target="ecp5-85", tdata=32, number="fixed",
        clock_mhz=None, parts=parts, dsp_blocks=7, verilog="", yosys="0.7", measured=counted,
    )  # fmt: skip


class TestFit:
    def test_weights_correct_the_estimates(self):
        designs = [made_up(luts, 2 * luts, (0.8 * luts, 2.4 * luts, 7, 2)) for luts in (1000, 2000, 4000)]
        weights = fit_weights(designs)
        assert weights["luts"]["arithmetic"] == pytest.approx(0.8, abs=0.01)
        assert weights["flip_flops"]["waiting"] == pytest.approx(1.2, abs=0.01)
        assert weights["luts"]["selection"] == 1.0

    def test_blocks_are_counted(self):
        resources = weigh(
            made_up(10, 10, (1, 1, 1, 1)).cells(), 7, fit_weights([made_up(10, 10, (10, 10, 7, 2))])
        )
        assert (resources.dsp_blocks, resources.block_rams) == (7, 2)

    def test_errors_are_of_robots_left_out_of_the_fit(self):
        """The designs of two robots differ by a third, and each is estimated from the other's alone."""
        counts = {"toy": (900, 2), "iiwa14": (1200, 4)}
        designs = [
            made_up(1000, 1000, (luts, 1000, 7, rams), robot)
            for robot, (luts, rams) in counts.items()
            for _ in range(3)
        ]
        errors = fit_calibration(designs).errors["ecp5-85"]["pipeline"]
        assert errors["luts"]["largest"] == pytest.approx(1 / 3, abs=0.01)
        assert errors["luts"]["median"] == pytest.approx((1 / 3 + 1 / 4) / 2, abs=0.01)
        assert errors["block_rams"] == {"median": 1, "largest": 2}

    def test_the_only_robot_is_estimated_without_results(self):
        designs = [made_up(1000, 1000, (800, 1000, 7, 2))] * 3
        assert fit_calibration(designs).errors["ecp5-85"]["pipeline"]["luts"] == {
            "median": 0.25,
            "largest": 0.25,
        }

    def test_the_table_names_every_yosys(self):
        designs = [made_up(1000, 1000, (900, 1000, 7, 2))] * 3
        designs[1] = designs[1].model_copy(update={"yosys": "0.65"})
        assert fit_calibration(designs).yosys == "0.65 and 0.7"
        assert fit_calibration(designs[:1]).yosys == "0.7"

    def test_each_core_has_weights_of_its_own(self):
        pipelines = [made_up(1000, 1000, (900, 1000, 7, 2))] * 4
        arrays = [made_up(1000, 1000, (600, 1000, 7, 2)).model_copy(update={"core": "array"})] * 4
        weights = fit_calibration(pipelines + arrays).weights["ecp5-85"]
        assert weights["pipeline"] == fit_weights(pipelines)
        assert weights["array"] == fit_weights(arrays) != fit_weights(pipelines)

    def test_the_table_survives_writing(self):
        table = fit_calibration([made_up(1000, 1000, (900, 1000, 7, 2))] * 2)
        assert Calibration.model_validate_json(table.text()) == table


PAIRS = [(name, core) for name, cores in KEPT.weights.items() for core in cores]
"""Targets and cores with results."""


class TestTable:
    def test_weights_and_errors_follow_from_the_designs(self):
        again = fit_calibration(KEPT.designs)
        assert [(name, core) for name, cores in again.errors.items() for core in cores] == PAIRS
        for name, core in PAIRS:
            for resource, weights in again.weights[name][core].items():
                assert weights == pytest.approx(KEPT.weights[name][core][resource], abs=2e-3)
            for resource, errors in again.errors[name][core].items():
                assert errors == pytest.approx(KEPT.errors[name][core][resource], abs=2e-3)

    def test_it_is_kept_as_it_is_written(self):
        assert TABLE.read_text() == KEPT.text()

    @pytest.mark.parametrize(("name", "core"), PAIRS)
    def test_the_largest_error_stated_is_that_of_a_robot_that_the_weights_do_not_know(self, name, core):
        """Robots to which the weights are fitted would always have smaller errors."""
        designs = [design for design in KEPT.designs if (design.target, design.core) == (name, core)]
        largest = dict.fromkeys(RESOURCES, 0.0)
        for design in designs:
            weights = fit_weights([other for other in designs if other.robot != design.robot])
            estimate = weigh(design.cells(), design.dsp_blocks, weights)
            for resource in RESOURCES:
                counted = getattr(design.measured, resource)
                difference = abs(getattr(estimate, resource) - counted)
                error = difference / counted if resource in WEIGHED else difference
                largest[resource] = max(largest[resource], error)
        stated = {resource: KEPT.errors[name][core][resource]["largest"] for resource in RESOURCES}
        assert stated == pytest.approx(largest, abs=2e-3)

    @pytest.mark.parametrize(("name", "core"), PAIRS)
    def test_the_error_stated_is_small(self, name, core):
        """The largest errors are those of small designs whose packets are ``float32``."""
        for resource in WEIGHED:
            assert KEPT.errors[name][core][resource]["median"] <= 0.12
            assert KEPT.errors[name][core][resource]["largest"] <= 0.27
        assert KEPT.errors[name][core]["dsp_blocks"]["median"] == 0

    @pytest.mark.parametrize(("name", "core"), PAIRS)
    def test_its_designs_are_of_several_robots(self, name, core):
        designs = [design for design in KEPT.designs if (design.target, design.core) == (name, core)]
        assert len({design.robot for design in designs}) > 1

    def test_its_designs_are_those_that_bench_measures(self):
        kept = Counter(map(subject_of, KEPT.designs))
        assert set(kept) <= set(subjects())
        assert max(kept.values()) == 1

    @pytest.mark.parametrize(("name", "core"), PAIRS)
    def test_a_design_of_the_table_built_again_is_within_the_error(self, name, core):
        """Otherwise the hardware has changed: `make calibrate` measures the table again."""
        key = {"robot": "toy", "width": 18, "target": name, "core": core}
        alike = [design for design in KEPT.designs if key.items() <= vars(design).items() and design.ii > 1]
        kept = min(alike, key=lambda design: (len(design.functions), design.ii))
        options = subject_of(kept).options
        estimate = make_plan(load_urdf(path("toy")), options).estimate
        for resource in WEIGHED:
            counted = getattr(kept.measured, resource)
            allowed = KEPT.errors[name][core][resource]["largest"]
            assert getattr(estimate, resource) == pytest.approx(counted, rel=allowed)
        assert estimate.dsp_blocks == kept.measured.dsp_blocks

    def test_its_tables_for_people(self):
        assert len(rows(KEPT)) == len(KEPT.designs)
        assert [(row["target"], row["core"]) for row in error_rows(KEPT)] == PAIRS
        assert {("ecp5-85", "pipeline"), ("xcvu9p", "pipeline")} <= set(PAIRS)


class TestShares:
    used = Resources(luts=41_820, flip_flops=8364, dsp_blocks=156, block_rams=52)
    device = target("ecp5-85")

    def test_of_a_device(self):
        expected = {"luts": 0.5, "flip_flops": 0.1, "dsp_blocks": 1.0, "block_rams": 0.25}
        assert shares(self.used, self.device) == expected
        assert load(self.used, self.device) == 1.85
        entry = estimate_entry(self.used, self.device, "pipeline").data()
        assert entry["shares"] == expected
        assert set(entry) == {*RESOURCES, "shares", "error"}
        assert entry["error"] == KEPT.errors["ecp5-85"]["pipeline"]
        assert estimate_entry(self.used, target("xc7a200t"), "pipeline").error is None

    def test_exceeded_resources_are_listed(self):
        assert [str(short) for short in short_of(self.used, self.device, 0.4)] == [
            "41,820 LUTs, 8,364 more than 40% of 83,640",
            "156 DSP blocks, 94 more than 40% of 156",
        ]
        assert short_of(self.used, self.device, 1.0) == []

    def test_resources_are_of_both_kinds(self):
        assert (*WEIGHED, *COUNTED) == RESOURCES
