"""From a URDF to a design: the manifest, accuracy, limb sharing and refusals."""

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw import golden
from rbdhw.cores.pipeline.core import schedule_pipeline
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.fixed.program import Kind
from rbdhw.front.robot_description import describe
from rbdhw.frontend.build_graph import optimise, prepare, trace_model
from rbdhw.graph.graph import Op
from rbdhw.graph.interpret import interpret
from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.options.build import BuildOptions, Pacing
from rbdhw.pipeline import generate, plan_build
from rbdhw.progress import stage_of
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.schedule.model import MULTIPLIERS, Resource
from rbdhw.target import target
from tests.support.builds import evaluated, graph_of, lowered, program_of
from tests.support.marks import long
from tests.support.strategies import ALL_KINDS, robots

pytestmark = pytest.mark.usefixtures("without_verilog")

TOY = {"ii": 2, "target": "ecp5-85", "fext": "all", "width": 18, "samples": 128, "data_width": 64}
ARM = """\
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><mass value="2"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>
  <link name="flange"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" velocity="3" effort="4"/></joint>
  <joint name="mount" type="fixed"><parent link="upper"/><child link="flange"/></joint>
</robot>
"""


@cache
def toy():
    return generate(path("toy"), BuildOptions(**TOY))


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    return file


class TestManifest:
    def test_the_manifest_repeats_the_request(self):
        facts = toy().manifest
        assert facts["robot"]["joints"] == list(load_urdf(path("toy")).joints)
        assert (facts["ii"], facts["clock_mhz"], facts["target"]) == (2, 40.0, "ecp5-85")
        assert (facts["width"], facts["budget"], facts["seed"]) == ([18, 18], None, 0)
        assert facts["stream"]["tdata_width"] == 64
        assert set(facts["versions"]) == {"rbdhw", "amaranth", "numpy"}
        assert set(facts["algorithms"]) == {"axes", "rewrites"}

    def test_operations_match_the_program(self):
        design, counts = toy(), toy().manifest["functions"]["id"]
        kinds = [operation.kind for operation in design.programs[0].operations]
        products = {"variable": kinds.count(Kind.MULTIPLY), "constant": kinds.count(Kind.SCALE)}
        assert counts["built"]["multiplications"] == counts["multiplications"] == products
        assert kinds.count(Kind.ADD) >= counts["built"]["additions"] > 0
        assert counts["built"]["reciprocals"] == counts["reciprocals"] == 0

    def test_hardware_matches_the_schedule(self):
        facts, program = toy().manifest, toy().programs[0]
        bound = schedule_pipeline(program, target("ecp5-85"), BuildOptions(**TOY))
        units = [unit for unit in bound.units if unit.resource is Resource.MULTIPLIER]
        used = sum(len(unit.steps) for unit in units)
        assert facts["multipliers"] == len(units)
        assert facts["multiplier_slots"] == {"used": used, "offered": 2 * len(units)}
        assert facts["trigonometry_units"] == 1
        assert facts["dsp_blocks"] == len(units) + 2
        assert facts["functions"]["id"]["core_latency_cycles"] == bound.latency["id"] + 1

    def test_latencies_and_rates_include_packets(self):
        """Streams of fixed-point numbers add five cycles to the beats after the first."""
        facts = toy().manifest
        entry, packets = facts["functions"]["id"], facts["interval"]["link"]["functions"]["id"]
        assert packets["beats_in"] > facts["ii"] == 2
        beats = packets["beats_in"] - 1 + packets["beats_out"] - 1
        assert entry["latency_cycles"] == entry["core_latency_cycles"] + beats + 5
        assert entry["latency_us"] == round(entry["latency_cycles"] / facts["clock_mhz"], 4)
        assert entry["tasks_per_second"] == round(facts["clock_mhz"] * 1e6 / packets["beats_in"])

    def test_every_operation_is_in_one_region(self):
        regions = toy().manifest["regions"]
        names = [region["name"] for region in regions]
        assert len(set(names)) == len(names)
        assert {"trigonometry", "rnea_forward_0", "rnea_forward_1"} <= set(names)
        free = (Kind.INPUT, Kind.CONSTANT)
        operations = [o for o in toy().programs[0].operations if o.kind not in free]
        assert sum(region["operations"] for region in regions) == len(operations)
        assert sum(region["multipliers"] for region in regions) == toy().manifest["multipliers"]

    def test_errors_are_measured_on_tasks_that_are_not_flagged(self):
        figures = toy().manifest["error"]["id"]
        assert figures["samples"] == 4 * TOY["samples"]
        assert figures["flagged"] <= 0.01 * figures["samples"]
        assert 0.0 < figures["median"] < 1e-4
        assert figures["median"] < figures["max"] < 1.0

    def test_it_is_json(self):
        assert json.loads(json.dumps(toy().manifest, allow_nan=False)) == toy().manifest


class TestInterval:
    def test_the_manifest_states_resources_and_the_interval_of_the_link(self):
        facts = toy().manifest
        assert facts["interval"]["why"] == "asked for"
        packets = facts["interval"]["link"]["functions"]["id"]
        bits = 32 + sum(facts["stream"]["slots"])
        assert (packets["bytes_in"], packets["beats_in"]) == (-(-bits // 8), -(-bits // 64))
        estimate = facts["estimate"]
        assert estimate["dsp_blocks"] == facts["dsp_blocks"]
        assert estimate["shares"]["luts"] == pytest.approx(estimate["luts"] / 83640, abs=1e-4)
        assert set(estimate["error"]) == {"luts", "flip_flops", "dsp_blocks", "block_rams"}

    def test_the_link_decides_on_request(self):
        options = BuildOptions(**{**TOY, "ii": 1, "data_width": 32}, pacing=Pacing())
        plan = make_plan(load_urdf(path("toy")), options)
        assert plan.interval.ii == plan.ii > 1
        assert plan.interval.why.startswith(f"the streams: a task of id takes {plan.ii} beats in and ")

    def test_limbs_that_must_share_get_an_interval_that_allows_it(self):
        """The robot has four legs, and the bandwidth alone allows an interval of one cycle."""
        options = BuildOptions(width=18, samples=256, share_limbs="on", pacing=Pacing(bandwidth=1000.0))
        plan = make_plan(load_urdf(path("hyq")), options)
        assert plan.ii == 2
        assert plan.core.schedule.twins


class TestRandomTrees:
    @given(robots(max_bodies=5, kinds=ALL_KINDS, mimics=True), st.sampled_from((18, 28)), st.booleans())
    @settings(max_examples=5)
    def test_golden_graph_and_evaluator_agree(self, robot, width, with_fext):
        """Relative to the largest torques, errors are below 2e-3 at 18 bits and 1e-5 at 28 bits.

        Hardly any task is flagged. The graph brings quaternions to unit length with an error of 2e-9.
        """
        model = prepare(robot, ("id",), "all" if with_fext else "none")
        graph = optimise(trace_model(model, ("id",)), target("xcvu9p").delays)
        arrays = sample(robot, input_domain(robot), 200, np.random.default_rng(8), model.fext)
        reference = golden.evaluate(robot, "id", arrays)["tau"]
        size = np.abs(reference).max()
        values = interpret(graph, graph_inputs(robot, arrays))
        floats = np.stack([values[f"id.tau[{i}]"] for i in range(robot.nv)], axis=1)
        np.testing.assert_allclose(floats, reference, rtol=0, atol=5e-9 * size)
        tau, result = evaluated(lowered(model, graph, width), robot, arrays)
        flagged = result.overflow | result.outside
        assert flagged.mean() <= 0.03
        error = np.abs(tau - reference)[~flagged].max()
        assert error <= {18: 2e-3, 28: 1e-5}[width] * size


class TestCounts:
    def test_info_agrees_with_the_design(self):
        told = describe(path("iiwa14"), BuildOptions(("id",)))
        graph = graph_of("iiwa14")
        assert told["robot"]["name"] == load_urdf(path("iiwa14")).name
        assert (told["robot"]["dof"], told["robot"]["depth"]) == (7, 7)
        assert told["functions"]["id"]["multiplications"] == {
            "variable": graph.count(Op.MULTIPLY),
            "constant": graph.count(Op.SCALE),
        }

    def test_every_value_of_a_program_is_used(self):
        program = program_of("hyq", 18)
        read = {operand.value for operation in program.operations for operand in operation.operands}
        read |= {word.value for word in program.outputs["id"]}
        assert read == set(range(len(program.operations)))


def refusal(urdf, overrides=None, **options):
    """Return the message with which a build is refused, before any slow stage."""
    with pytest.raises(InputError) as error:
        generate(urdf, BuildOptions(**{"samples": 256, **options}), overrides)
    return str(error.value)


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "text"),
        [
            (
                {"clock_mhz": 600.0, "width": 18},
                "clock: 600 MHz is too fast for this design on xcvu9p; expected at most 459 MHz",
            ),
            ({"max_error": 1e-12}, "max-error: no supported width meets 1e-12; 32 bits support "),
            (
                {"max_error": 1e-9, "width": 12},
                "max-error: 1e-09 is not met at a width of 12 bits, which support ",
            ),
        ],
    )
    def test_an_option_that_cannot_be_satisfied(self, arm, options, text):
        assert refusal(arm, **options).startswith(text)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"functions": ("m",), "core": "chain"}, "core: the chain core computes fd or id only; expected"),
            (
                {"functions": ("fd",), "core": "chain", "fext": "all"},
                "fext: the chain core takes no external",
            ),
            ({"core": "array", "ii": 7, "width": 18}, "ii: 7 is too few for the array core; expected 8"),
        ],
    )
    def test_a_core_that_cannot_be_planned(self, options, text):
        with pytest.raises(InputError, match=text):
            plan_build(load_urdf(path("toy")), BuildOptions(**options))


def test_progress_reports_the_stages_in_order(arm):
    stages = []
    generate(arm, BuildOptions(width=12, samples=64), progress=stages.append)
    assert list(dict.fromkeys(map(stage_of, stages))) == [
        "reading the robot",
        "choosing the root",
        "rewriting frames and inertias",
        "choosing algorithms",
        "tracing",
        "observing random tasks",
        "choosing number formats of the pipeline",
        "scheduling the pipeline at an II of 1",
        "writing Verilog",
    ]
    assert "rewriting frames and inertias: 2 tried" in stages
    assert "choosing number formats of the pipeline: try 1, 12 x 12 bits" in stages


class TestAllFunctions:
    def test_the_manifest_lists_every_function_and_the_algorithms(self):
        facts = multifunction().manifest
        for entry in ("functions", "error", "inputs", "outputs"):
            assert list(facts[entry]) == list(DEFAULT_FUNCTIONS), entry
        assert facts["functions"]["minv"]["reciprocals"] == 1
        assert facts["reciprocal_units"] == 1
        assert set(facts["algorithms"]) == {*ALGORITHMS, "rewrites"} - {
            "forward",
            "second",
            "rates",
            "contacts",
        }
        latency = {name: entry["latency_cycles"] for name, entry in facts["functions"].items()}
        assert latency["m"] < latency["minv"] <= latency["dfd"]
        assert max(latency["id"], latency["did"]) < latency["difd"] < latency["dfd"]

    def test_a_requested_algorithm_is_used_and_recorded(self):
        options = BuildOptions(**TOY, functions=("did",), algorithms={"derivatives": "columns"})
        told = generate(path("toy"), options).manifest["algorithms"]["derivatives"]
        assert told["chosen"] == "columns"
        assert list(told["costs"]) == ["columns"]

    @pytest.mark.parametrize("function", list(DEFAULT_FUNCTIONS))
    def test_errors_are_small_and_no_task_is_flagged(self, function):
        error = multifunction().manifest["error"][function]
        assert 0.0 < error["median"] < 1e-4
        assert error["flagged"] <= 0.001 * error["samples"]

    @pytest.mark.parametrize(
        ("name", "chosen"),
        [
            long("iiwa14", ("id",)),
            ("toy", ("m", "minv")),
            long("iiwa14", ("m", "minv")),
            ("toy", ("fd", "did")),
            long("iiwa14", ("fd", "did")),
            long("iiwa14", ("dfd",)),
        ],
    )
    def test_a_build_of_some_functions_contains_only_their_operations(self, name, chosen):
        """Every operation of the program is used, and every input is read by one of the functions."""
        options = BuildOptions(functions=chosen, width=18, samples=64)
        program = make_plan(load_urdf(path(name)), options).program
        used = set().union(*(program.operations_of(function) for function in chosen))
        idle = [o for i, o in enumerate(program.operations) if i not in used]
        assert idle == []
        arrays = {word.name.partition("[")[0] for word in program.inputs}
        assert arrays <= {name for function in chosen for name in FUNCTIONS[function].inputs}


@cache
def multifunction():
    return generate(path("toy"), BuildOptions(**TOY, functions=DEFAULT_FUNCTIONS))


class TestLimbs:
    def test_legs_share_hardware_if_the_interval_allows_it(self):
        facts = generate(path("hyq"), BuildOptions(ii=4, width=18, samples=64)).manifest
        limbs = facts["parts"][0]["limbs"]
        assert limbs["groups"] == [["lf_hipassembly", "lh_hipassembly", "rf_hipassembly", "rh_hipassembly"]]
        assert limbs["shared"]
        assert limbs["multiplications"]["alone"] == limbs["operations"]["alone"] == 0
        assert limbs["costs"]["on"]["multipliers"] == facts["multipliers"]
        assert list(limbs["costs"]) == ["on", "off"]

    @pytest.mark.parametrize(("share", "ii"), [long("off", 4), ("auto", 5), long("auto", 1)])
    def test_legs_do_not_share_otherwise(self, share, ii):
        options = BuildOptions(ii=ii, width=18, samples=64, share_limbs=share)
        plan = make_plan(load_urdf(path("hyq")), options)
        assert plan.core.schedule.twins == ()
        limbs = generate(path("toy"), BuildOptions(**TOY)).manifest["parts"][0]["limbs"]
        assert (limbs["groups"], limbs["shared"], limbs["costs"]) == ([], False, {})

    def test_impossible_sharing_is_refused(self):
        assert refusal(path("iiwa14"), share_limbs="on", ii=2) == (
            "share-limbs: no limbs of iiwa14 are alike; expected auto or off"
        )
        assert refusal(path("hyq"), share_limbs="on", ii=5) == (
            "share-limbs: the limbs at lf_hipassembly, lh_hipassembly, rf_hipassembly, rh_hipassembly "
            "cannot share at an ii of 5; expected a multiple of 2 or 3; use --ii 6"
        )

    @pytest.mark.verify
    def test_legs_that_share_need_fewer_multipliers(self):
        def multipliers(ii, share):
            options = BuildOptions(
                functions=DEFAULT_FUNCTIONS, ii=ii, width=18, samples=256, share_limbs=share
            )
            bound = make_plan(load_urdf(path("hyq")), options).core.schedule
            return sum(unit.resource in MULTIPLIERS for unit in bound.units)

        shared = multipliers(4, "on")
        assert shared <= 0.35 * multipliers(1, "off")
        assert shared <= 1.1 * multipliers(4, "off")

    def test_info_states_the_savings_of_sharing(self):
        limbs = describe(path("hyq"), BuildOptions(("id",)))["limbs"]
        assert limbs["ii"] == 4
        assert limbs["hardware"]["on"]["multipliers"] <= 1.1 * limbs["hardware"]["off"]["multipliers"]
        assert 3 * limbs["hardware"]["on"]["adders"] < limbs["hardware"]["off"]["adders"]
