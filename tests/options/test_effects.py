"""Options without effect are refused, whether they are asked for in Python or on the command line."""

import pytest

from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions, CoreRequest, Mounting, Pacing
from rbdhw.options.checks import check_options
from rbdhw.options.option import HARDWARE
from rbdhw.options.table import OPTIONS
from rbdhw.robot.drives import Drives

ELBOW = (("elbow", (1.0,)),)

SOLVE = {"functions": ("solve",), "target": "c"}

IDLE = [
    ({"functions": ("m",), "fext": "all"}, "fext: no function of the build takes external forces"),
    ({"functions": ("m", "minv"), "mounting": Mounting(gravity="task")}, "gravity: no function"),
    (
        {"mounting": Mounting(frames=("tip",))},
        "frames: no function of the build has results of frames; use --functions kin",
    ),
    ({"mounting": Mounting(frame_axes="world")}, "frame-axes: only kin and dfext have vectors of frames"),
    ({"mounting": Mounting(time_step=0.01)}, "time-step: no function of the build takes a step in time"),
    ({"horizon": 5}, "horizon: the build has no rollouts; use --functions rollout"),
    ({"functions": ("step",), "rollout": ("cost",)}, "rollout: the build has no rollouts; use --functions"),
    ({"functions": ("rollout",), "target": "cuda"}, "functions: --target cuda has no rollouts"),
    ({"functions": ("rollout",), "rollout": ("cost",), "target": "c"}, "rollout: software has all parts"),
    ({"functions": ("rollout",), "hold": 2}, "hold: the build draws no samples; use --functions rollout"),
    ({"functions": ("rollout",), "cost_rows": 2}, "cost-rows: the build computes no costs; use --functions"),
    ({"functions": ("mppi",), "cost_rows": 2, "target": "c"}, "cost-rows: the build computes no costs"),
    ({"knots": 5}, "knots: the build has no solver; use --functions solve"),
    ({"alphas": 5}, "alphas: the build has no solver; use --functions solve"),
    ({"functions": ("mppi",), "target": "cuda"}, "functions: --target cuda has no mppi; use --target c"),
    ({"functions": ("mppi",), "knots": 5}, "knots: the build has no solver; use --horizon"),
    ({"functions": ("step",), "knots": 5}, "knots: the build has no solver; use --functions solve"),
    ({"iterations": 5}, "iterations: the build has no solver; use --functions solve"),
    ({"problems": 2}, "problems: the build has no solver; use --functions solve"),
    ({"functions": ("solve",), "target": "c", "problems": 2}, "problems: software takes any number of"),
    ({"blocks": 2}, "blocks: the build has no solver; use --functions solve"),
    ({"functions": ("solve",), "target": "c", "blocks": 2}, "blocks: software sweeps back through all knots"),
    (
        {"functions": ("solve",), "problems": 2, "blocks": 2},
        "blocks: several problems take turns in the sweep; expected none; leave --blocks or --problems out",
    ),
    (
        {"functions": ("solve",), "knots": 4, "blocks": 4},
        "blocks: 4 steps do not make 4 blocks of the same number of knots, but for the last one; "
        "expected fewer, such as 1, 2, 3",
    ),
    ({"sweep_ii": 100}, "sweep-ii: the build has no solver; use --functions solve"),
    ({"functions": ("solve",), "target": "c", "sweep_ii": 100}, "sweep-ii: has no effect with --target c"),
    ({"functions": ("solve",), "target": "c", "iterations": 5}, "iterations: software takes the number of"),
    ({"functions": ("solve",), "streams": 2}, "streams: a solver answers on the only pair of streams"),
    ({"functions": ("solve",), "copies": 2}, "cores: a solver takes steps, and derivatives, in one core"),
    ({"functions": ("solve",), "target": "cuda"}, "functions: --target cuda has no solver"),
    (SOLVE | {"mounting": Mounting("given")}, "base: solve has the same robot in all steps; expected fixed"),
    (SOLVE | {"mounting": Mounting(gravity="task")}, "gravity: solve has the same robot in all steps"),
    (SOLVE | {"mounting": Mounting(parameters="payload")}, "parameters: solve has the same robot in all"),
    (SOLVE | {"fext": "all"}, "fext: solve has the same robot in all steps; expected none"),
    ({"functions": ("m",), "mounting": Mounting(drives=Drives(from_file=True))}, "damping: no function"),
    ({"functions": ("sid",), "mounting": Mounting(drives=Drives(damping=ELBOW))}, "damping: no function"),
    ({"functions": ("hid",), "mounting": Mounting(drives=Drives(armature=ELBOW))}, "armature: no function"),
    ({"parameters_by": "load"}, "parameters-by: all parameters are constant; expected some that"),
    ({"parameter_sets": 2}, "parameter-sets: each task brings its own parameters; use --parameters-by load"),
    ({"priority": ("id",)}, "priority: the build has one function; expected several functions; leave"),
    (
        {"share_stages": "loop"},
        "share-stages: no function of the build works in stages; expected auto or off",
    ),
    ({"cores": (CoreRequest(("id",), 1, "pipeline"),), "core": "pipeline"}, "core: each core in"),
    ({"target": "c", "width": 18}, "width: has no effect with --target c; expected an FPGA as the target"),
    ({"target": "cuda", "seed": 1}, "seed: has no effect with --target cuda; expected an FPGA as the"),
    ({"mix": {"id": 1.0}, "pacing": Pacing()}, "mix: chooses the cores and excludes --ii; leave --ii out"),
]


@pytest.mark.parametrize(("options", "text"), IDLE)
def test_an_option_that_changes_nothing_is_refused(options, text):
    with pytest.raises(InputError) as refusal:
        check_options(BuildOptions(**options))
    assert str(refusal.value).startswith(text)


@pytest.mark.parametrize(
    "options",
    [
        {"functions": ("m", "id"), "fext": "all"},
        {"functions": ("kin",), "mounting": Mounting("given", frames=("tip",), frame_axes="world")},
        {"functions": ("sfd",), "mounting": Mounting(drives=Drives(True, ELBOW, ELBOW))},
        {"functions": ("m",), "mounting": Mounting(drives=Drives(armature=ELBOW), parameters="payload")},
        {"functions": ("rollout",), "horizon": 5, "rollout": ("cost",), "priority": ("step",)},
        {"functions": ("rollout",), "rollout": ("samples",), "hold": 4},
        {"functions": ("rollout",), "rollout": ("cost",), "cost_rows": 32},
        {"functions": ("mppi",), "cost_rows": 1},
        SOLVE | {"knots": 5, "alphas": 2, "mounting": Mounting("floating", frames=("tip",))},
        {"functions": ("solve",), "sweep_ii": 100},
        {"functions": ("solve",), "problems": 3},
        {"functions": ("solve",), "knots": 4, "blocks": 5},
        {"mounting": Mounting(parameters="payload"), "parameters_by": "load", "parameter_sets": 2},
        {"share_stages": "off", "share_limbs": "off"},
        {
            "functions": ("id", "fd"),
            "cores": (CoreRequest(("id",)), CoreRequest(("fd",))),
            "core": "pipeline",
        },
        {"target": "c"},
    ],
)
def test_an_option_with_effect_is_accepted(options):
    check_options(BuildOptions(**options))


def test_a_default_is_refused_only_where_it_says_something():
    for given in (["frame_axes"], ["parameters_by"]):
        with pytest.raises(InputError):
            check_options(BuildOptions(), given)
    check_options(BuildOptions(), ["fext", "parameters", "horizon", "priority", "copies", "share_stages"])
    with pytest.raises(InputError, match="tdata: has no effect with --target c"):
        check_options(BuildOptions(target="c"), ["tdata"])


def test_every_hardware_option_needs_a_device():
    for option in OPTIONS:
        needs = any(not effect.holds(BuildOptions(target="c")) for effect in option.effects[:1])
        assert needs or option.group != HARDWARE or option.name == "domain", option.name


@pytest.mark.parametrize("option", ["--cores", "--mix", "--priority", "--rollout", "--functions"])
@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_list_is_refused(told, tmp_path, option, value):
    line = told("generate", "robots/toy.urdf", "-o", tmp_path, option, value)
    assert line.startswith(f"{option[2:]}: none given; expected ")
