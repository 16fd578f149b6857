"""Bit-exact means of samples in C beside their model, and packets of every kind."""

import ctypes

import numpy as np

from rbdhw.fixed.softmin import MOST_EXPONENT, MOST_SAMPLES, SCALE
from rbdhw.model.packets import MALFORMED
from rbdhw.model.responses import respond
from rbdhw.model.rollouts.mean_session import MeanSession
from rbdhw.model.rollouts.positions import OF_POSITIONS
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.protocol import MEAN, MPPI, STEP_ROWS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.software.exact_library import ExactMeans
from tests.support.bit_exact import assert_same_bits, draw_words
from tests.support.means import Script
from tests.support.remembered import remembered

HORIZON = 5


def model_of(robot, **options):
    """Return an accelerator that takes means of samples of a robot."""
    sizes = {"functions": ("mppi",), "width": 18, "horizon": HORIZON, "hold": 2, "samples": 256}
    return plan_build(robot, BuildOptions(**(sizes | options))).accelerator


@remembered
def toy(**options):
    """Return a small one of the toy."""
    return model_of(load_urdf(path("toy")), **options)


def session_of(model):
    """Return the model in NumPy."""
    return MeanSession(model, lambda words: respond(model, model.interface.step.name, words))


class Both:
    """Means of samples in C and their model, which have the same packets and are to give the same answers."""

    def __init__(self, model, flags=()):
        self.exact, self.session = ExactMeans(model, flags), session_of(model)

    @property
    def rows(self):
        return self.session.rows

    def rollout_rows(self):
        return self.session.rollout_rows()

    def respond(self, function, words, extended=False):
        answer = self.exact.respond(function, words, extended)
        assert_same_bits(answer, self.session.respond(function, words, extended))
        return answer


def script_of(model, flags=()):
    """Return a script whose packets are answered by both."""
    return Script(model, Both(model, flags))


def check_loop(script, samples=70):
    """Compare means that follow one another, around plans that were loaded between them."""
    script.load(0)
    status, first = script.mppi(1, samples)
    assert (status[0], first["mppi.counted"][0] > samples // 2) == (0, True)
    script.mean()
    _, second = script.mppi(2, samples // 2, shift=1)
    assert any(second[name][0] != first[name][0] for name in first if name.startswith("mppi.tau"))
    script.load(6, rows=2)
    script.mppi(3, samples=1, shift=script.horizon - 1)
    script.mppi(4, samples=2 * samples + 1, seed=(1 << 31) - 7)  # seeds begin again
    script.mean()


def check_temperatures(script):
    """Compare means in which one sample counts, some, and all; the reference falls by one octave or many."""
    script.load(3, deviation=0.5)
    for exponent, scale in ((0, 0), (0, SCALE.highest), (18, SCALE.highest), (27, 1), (MOST_EXPONENT, 1)):
        script.mppi(exponent, samples=30, exponent=exponent, scale=scale)
        script.mean()


def check_malformed(script):
    """Compare requests with mistakes, which change nothing."""
    assert script.mppi(1)[0] == MALFORMED
    assert script.mean(0)[0] == MALFORMED
    script.load(0, rows=script.horizon - 1)
    assert script.mppi(1)[0] == MALFORMED
    assert script.mean(script.horizon - 2, script.horizon - 1, -1)[0].tolist() == [0, MALFORMED, MALFORMED]
    shape = script.model.interface.rollout
    for command in script.model.interface.row_commands:
        most = script.horizon if command in STEP_ROWS else shape.cost_rows
        words = draw_words(script.model, command, False, 3, 1) | {"row": np.array([most, -1, 0])}
        status = script.send(command, words)[0]
        assert status[:2].tolist() == [MALFORMED, MALFORMED]
    script.load(0)
    wrong = {"samples": (0, MOST_SAMPLES + 1), "seed": (-1,), "scale": (-1,), "exponent": (-1, 64)}
    for name, numbers in {**wrong, "shift": (-1, script.horizon)}.items():
        for number in numbers:
            assert script.mppi(1, **{name: number})[0] == MALFORMED
    assert script.mppi(1)[0] == 0


def check_any(script, seed):
    """Compare answers to random words, some of which are beyond their bounds."""
    model = script.model
    for command in model.interface.row_commands:
        count = script.horizon if command in STEP_ROWS else model.interface.rollout.cost_rows
        rows = draw_words(model, command, False, count, seed)
        script.send(command, rows | {"row": np.arange(count)})
    words = draw_words(model, MPPI, False, 8, seed)
    rng = np.random.default_rng(seed)
    calm = {"samples": rng.integers(1, 9, 8), "exponent": rng.integers(0, MOST_EXPONENT, 8, endpoint=True)}
    script.send(MPPI, words | calm)
    script.send(MEAN, {"row": np.arange(-1, script.horizon + 2)})


def problem_of(model, seed):
    """Return a problem of the toy in arrays, and samples for it."""
    rng, steps = np.random.default_rng(seed), model.interface.rollout.horizon
    nq, nv = model.robot.nq, model.robot.nv
    problem = {
        "q": rng.uniform(-0.5, 0.5, nq),
        "v": rng.uniform(-0.1, 0.1, nv),
        "h": np.array(0.01),
        "x_ref": rng.uniform(-0.4, 0.4, (steps + 1, nq + nv)),
        "Q": rng.uniform(0.0, 10.0, (steps + 1, 2 * nv)),
        "R": rng.uniform(0.0, 1e-2, (steps, nv)),
        "tau": rng.uniform(-1.0, 1.0, (steps, nv)),
    }
    if rows := model.interface.rollout.cost_rows:
        problem |= {
            "C": rng.normal(size=(rows, 2 * nv)),
            "y": rng.uniform(-0.5, 0.5, (steps + 1, rows)),
            "W": rng.uniform(0.0, 20.0, (steps + 1, rows)),
        }
    if model.robot.tracks:
        frames = len(model.robot.frames)
        poses = rng.uniform(-0.4, 0.4, (steps + 1, frames, 4, 4))
        problem["placement_ref"] = poses
        problem["position_weight"] = rng.uniform(0.0, 20.0, (steps + 1, frames, 3))
        problem["position_weight"][1, 0, 0] = 0.0
        poses[1, 0, 0, 3] = 1e6  # costs nothing
    sampling = {
        "std": rng.uniform(0.0, 2.0, (steps, nv)),
        "temperature": 0.3,
        "seed": 50 * seed,
        "samples": 33,
    }
    return problem, sampling


def mean_of_arrays(exact, problem, sampling, follow=None, takes=("h",), wanted=("tau", "least", "effective")):
    """Return the status of a mean in arrays by the function in C, and its arrays, if they are ``wanted``.

    ``sampling`` are ``std``, ``temperature``, ``seed`` and ``samples``; ``takes`` is empty if the time step
    is fixed.
    """
    others = [name for name in ("C", "y", "W", *OF_POSITIONS, "position") if name in problem]
    names = ("q", "v", "x_ref", "Q", "R", *others, "tau")
    given = {name: np.ascontiguousarray(problem[name]) for name in names}
    given["std"] = np.ascontiguousarray(sampling["std"])
    arrays = {"tau": np.full_like(problem["tau"], -1.0), "least": np.array(-1.0), "effective": np.array(-1.0)}
    numbers = {name: float(problem[name]) for name in takes}
    numbers |= {name: sampling[name] for name in ("temperature", "seed", "samples")}
    pointers = {name: array.ctypes.data for name, array in given.items()}
    asked = _sampling_type(takes, others)(**numbers, **pointers)
    written = _Mean(**{name: arrays[name].ctypes.data for name in wanted})
    warm, shift = int(follow is not None), follow or 0
    call = exact.library.rbdhw_mppi
    status = call(exact.memory, ctypes.byref(asked), warm, shift, ctypes.byref(written))
    return status, arrays


def _pointers(*names):
    return [(name, ctypes.c_void_p) for name in names]


def _sampling_type(takes, others):
    """Return the structure of a problem and its samples, with these numbers of steps and these arrays."""
    fields = [*_pointers("q", "v"), *((name, ctypes.c_double) for name in takes)]
    fields += _pointers("x_ref", "Q", "R", *others, "tau", "std")
    numbers = {"temperature": ctypes.c_double, "seed": ctypes.c_int64, "samples": ctypes.c_int}
    return type("Sampling", (ctypes.Structure,), {"_fields_": [*fields, *numbers.items()]})


class _Mean(ctypes.Structure):
    _fields_ = _pointers("tau", "least", "effective")
