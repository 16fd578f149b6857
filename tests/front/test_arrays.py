"""One check of the user's arrays serves every engine: what is refused, and what is flagged."""

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import write
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.errors import InputError
from rbdhw.front.run import run
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate, generate_software
from rbdhw.robots import path
from rbdhw.software import folder as software_folder

pytestmark = pytest.mark.usefixtures("without_verilog")

OPTIONS = BuildOptions(functions=("id",), width=24, ii=4, samples=256)
ENGINES = ("model", "numpy", "golden", "float64", "float32")
SOFTWARE = ("float64", "float32")
BOUNDS = Overrides(default=JointBounds(acceleration=(-40.0, 40.0)))


def written(folder, urdf, options):
    """Return the folders of an accelerator and of software of one robot."""
    write(generate(urdf, options, BOUNDS), folder / "accelerator")
    plain = BuildOptions(functions=options.functions, mounting=options.mounting, target="c")
    software_folder.write(generate_software(urdf, plain, BOUNDS), folder / "software")
    return folder


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return written(tmp_path_factory.mktemp("toy"), path("toy"), OPTIONS)


@pytest.fixture(scope="module")
def floating(tmp_path_factory):
    """A floating base with a continuous joint."""
    folder = tmp_path_factory.mktemp("floating")
    text = path("toy").read_text().replace('type="revolute"', 'type="continuous"', 1)
    (folder / "wheel.urdf").write_text(text)
    options = BuildOptions(functions=("id",), width=24, ii=4, samples=256, mounting=Mounting(base="floating"))
    return written(folder, folder / "wheel.urdf", options)


def load(folder, engine, **settings):
    return rbdhw.load(folder / ("software" if engine in SOFTWARE else "accelerator"), engine, **settings)


NOUGHT = np.zeros(2)

MISUSE = {
    "missing": (
        (NOUGHT, NOUGHT),
        {},
        "function 'id': missing a required argument: 'a'; expected id(q, v, a, ",
    ),
    "none": ((NOUGHT, None, NOUGHT), {}, "array 'v': missing; expected q, v, a for id"),
    "too many": ((NOUGHT,) * 4, {}, "function 'id': too many positional arguments"),
    "unknown": ((NOUGHT,) * 3, {"gravty": 1}, "function 'id': got an unexpected keyword argument 'gravty'"),
    "twice": ((NOUGHT,) * 3, {"v": NOUGHT}, "function 'id': multiple values for argument 'v'"),
    "gravity": (
        (NOUGHT,) * 3,
        {"gravity": [0.0, 0.0, np.nan]},
        "array 'gravity': gravity is constant in this build",
    ),
    "base_v": (
        (NOUGHT,) * 3,
        {"base_v": np.zeros(6)},
        "array 'base_v': tasks of this build do not say how the base",
    ),
    "base_a": ((NOUGHT,) * 3, {"base_a": "x"}, "array 'base_a': "),
    "parameters": ((NOUGHT,) * 3, {"parameters": np.zeros((1, 10))}, "array 'parameters': "),
    "one task": (
        (NOUGHT, np.zeros(3), NOUGHT),
        {},
        "array 'v': shape (3,); expected (2,) for one task, (N, 2) for",
    ),
    "batch": ((NOUGHT, np.zeros((4, 3)), NOUGHT), {}, "array 'v': shape (4, 3); expected (2,) for one"),
    "no axis": ((NOUGHT, 1.0, NOUGHT), {}, "array 'v': shape (); expected"),
    "q": ((np.zeros(5), NOUGHT, NOUGHT), {}, "array 'q': shape (5,); expected (2,) for one task"),
    "masked": ((NOUGHT, np.ma.masked_array(NOUGHT, [0, 1]), NOUGHT), {}, "array 'v': has masked elements"),
    "complex": ((NOUGHT, NOUGHT + 0j, NOUGHT), {}, "array 'v': holds complex128; expected real numbers"),
    "times": ((NOUGHT, NOUGHT.astype("M8[s]"), NOUGHT), {}, "array 'v': holds datetime64[s]"),
    "spans": ((NOUGHT, NOUGHT.astype("m8[s]"), NOUGHT), {}, "array 'v': holds timedelta64[s]"),
    "objects": ((NOUGHT, NOUGHT.astype(object), NOUGHT), {}, "array 'v': holds Python objects"),
    "text": ((NOUGHT, ["0", "1"], NOUGHT), {}, "array 'v': holds <U1"),
    "records": ((NOUGHT, np.zeros(2, "f8,f8"), NOUGHT), {}, "array 'v': holds"),
    "ragged": ((NOUGHT, [[0.0], [0.0, 1.0]], NOUGHT), {}, "array 'v': is no array"),
    "set": ((NOUGHT,) * 3, {"parameter_set": 1}, "parameter_set: all inertial parameters"),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_misuse_is_refused_alike_by_every_engine(toy, engine):
    acc = load(toy, engine)
    for case, (positional, named, reason) in MISUSE.items():
        with pytest.raises(InputError) as refusal:
            pytest.fail(f"{case}: {acc.id(*positional, **named)}")
        assert reason in str(refusal.value)


OUTSIDE = {
    "array 'a', row 2, column 0: 41; expected -40 to 40": (2, "a", [41.0, -1.0]),
    "array 'q', row 1, column 1: nan; expected finite numbers": (1, "q", [0.0, np.nan]),
    "array 'v', row 0: 1e+300; expected magnitudes": (0, "v", [0.0, 1e300]),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_task_outside_leaves_the_others_alone(toy, engine):
    """It is computed where its numbers are limited; without numbers it has no result."""
    acc, good = load(toy, engine), np.random.default_rng(1).uniform(-0.5, 0.5, (3, 4, 2))
    expected, changed = acc.id(*good), dict(zip("qva", good.copy(), strict=True))
    for row, name, numbers in OUTSIDE.values():
        changed[name][row] = numbers
    batch, one = acc.id(**changed), acc.id(*(changed[name][2] for name in "qva"))
    assert (batch.status.tolist(), one.status) == ([1, 8, 1, 0], 1)
    assert np.isnan(batch.tau[1]).all()
    assert np.array_equal(batch.tau[3], expected.tau[3])
    inside = acc.id(good[0, 2], good[1, 2], [40.0, -1.0])
    assert (one.tau.tolist(), inside.status) == (inside.tau.tolist(), 0)
    assert batch.tau[2] == pytest.approx(inside.tau, rel=1e-6)
    assert acc.id(*good[:2], np.full(2, 40.0 * (1.0 + 1e-12))).status.tolist() == [0] * 4
    for reason, (row, name, numbers) in OUTSIDE.items():
        arrays = dict(zip("qva", good.copy(), strict=True))
        arrays[name][row] = numbers
        with pytest.raises(InputError) as refusal:
            pytest.fail(f"{load(toy, engine, outside='refuse').id(**arrays)}")
        assert str(refusal.value).startswith(reason)


def test_numbers_of_every_kind_are_taken(toy):
    acc = load(toy, "model")
    expected = acc.id(np.ones(2) / 2, NOUGHT, NOUGHT).tau
    for numbers in ([0.5, 0.5], np.full(2, 0.5, np.float32), np.ma.masked_array([0.5, 0.5], [0, 0])):
        assert np.array_equal(acc.id(numbers, [0, 0], [False, False]).tau, expected)


LENGTHS = {1.0: 0, 1.0 + 1e-6: 0, 1.0 - 4e-4: 0, 1.0 + 6e-4: 2, 0.5: 2, 0.9: 2, 1e-3: 2}
"""Lengths, and the bit of the status that they set."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("part", [slice(3, 7), slice(7, 9)], ids=["quaternion", "circle"])
def test_another_length_is_flagged_alike_by_every_engine(floating, engine, part):
    acc = load(floating, engine)
    one, v = np.array([0.0, 0.0, 0.0, 0.48, 0.6, 0.64, 0.0, 0.6, 0.8, 0.2]), np.full(8, 0.1)
    q = np.tile(one, (len(LENGTHS), 1))
    q[:, part] *= np.array(list(LENGTHS))[:, np.newaxis]
    batch = acc.id(q, v, v)
    assert (batch.status & 2).tolist() == list(LENGTHS.values())
    assert acc.id(q[3], v, v).status & 2
    assert not acc.id(one.astype(np.float32), v, v).status
    for row, near in zip(batch.tau, LENGTHS.values(), strict=True):
        if not near or engine == "golden" or part.start == 7:  # of a circle only the direction counts
            assert row == pytest.approx(batch.tau[0], rel=2e-3, abs=1e-2)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_direction_is_refused_alike_by_every_engine(floating, engine):
    q, v = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.2]), np.zeros(8)
    for part, reason in (
        (slice(3, 7), "quaternion of joint 'root_joint'"),
        (slice(7, 9), "circle of joint"),
    ):
        other = q.copy()
        other[part] = 0.0
        with pytest.raises(
            InputError, match=f"array 'q', row 1: the {reason}.* has length 0; expected a unit"
        ):
            load(floating, engine).id(np.stack([q, other]), v, v)


@pytest.fixture(scope="module")
def rolling(tmp_path_factory):
    """A build of rollouts, with a continuous joint."""
    folder = tmp_path_factory.mktemp("rolling")
    text = path("toy").read_text().replace('type="revolute"', 'type="continuous"', 1)
    (folder / "wheel.urdf").write_text(text)
    options = BuildOptions(functions=("step",), width=20, ii=4, samples=128, horizon=8)
    write(generate(folder / "wheel.urdf", options), folder / "wheel")
    return folder / "wheel"


STEPS = np.zeros((4, 2))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda roll: roll(NOUGHT, NOUGHT, STEPS, 0.001, every=1.5), "every: 1.5; expected a whole number"),
        (lambda roll: roll(NOUGHT, NOUGHT, STEPS, 0.001, every=9), "every: 9; expected 0 to 8 steps"),
        (lambda roll: roll(NOUGHT, NOUGHT, STEPS[:0], 0.001), "expected (K, 2) for K of 1 to 8 steps"),
        (lambda roll: roll(NOUGHT, NOUGHT, np.zeros((9, 2)), 0.001), "generate with a larger --horizon"),
        (lambda roll: roll(NOUGHT, NOUGHT, STEPS + 0j, 0.001), "array 'tau': holds complex128"),
        (lambda roll: roll(NOUGHT, NOUGHT, None, 0.001), "array 'tau': missing"),
        (lambda roll: roll(NOUGHT, NOUGHT, STEPS), "array 'h': missing"),
        (lambda roll: roll(NOUGHT, NOUGHT), "function 'rollout': missing a required argument: 'tau'"),
        (
            lambda roll: roll(NOUGHT, NOUGHT, STEPS, 0.001, gravity=[0, 0, 1]),
            "array 'gravity': gravity is con",
        ),
        (
            lambda roll: roll(NOUGHT, NOUGHT, STEPS, 0.001, base_v=np.zeros(6)),
            "array 'base_v': tasks of this",
        ),
        (lambda roll: roll(NOUGHT, NOUGHT, STEPS, "now"), "array 'h': holds <U3"),
    ],
)
def test_misuse_of_rollouts_is_refused(rolling, call, reason):
    with pytest.raises(InputError) as refusal:
        call(rbdhw.load(rolling, "numpy").rollout)
    assert reason in str(refusal.value)
    assert not str(refusal.value).endswith("larger --horizon") or "(9, 2)" in str(refusal.value)


@pytest.mark.parametrize("engine", ["numpy", "golden"])
def test_a_rollout_from_a_point_off_the_circle_is_flagged_and_explained(rolling, tmp_path, engine):
    q = np.array([[0.6, 0.8, 0.1], [1.0, np.pi / 2, 0.1], [1.0, 0.0, 0.1]])
    batch = rbdhw.load(rolling, engine).rollout(q, np.zeros((3, 2)), STEPS, 0.001)
    assert (batch.status.tolist(), batch.first_flagged.tolist()) == ([0, 2, 0], [0, 1, 0])
    np.savez(tmp_path / "in.npz", q=q, v=np.zeros((3, 2)), h=0.001, tau=STEPS)
    (cause,) = run(rolling, "rollout", tmp_path / "in.npz", tmp_path / "out.npz", engine).causes
    assert (cause.signal, cause.task) == ("length of the circle of joint 'shoulder'", 1)
