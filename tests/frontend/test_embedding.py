"""Loops whose joints follow one of them: their dynamics are those of Pinocchio's tree, projected."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rbdhw
from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.frontend.embedding import embed_loops, embeddable_loops
from rbdhw.frontend.functions import trace
from rbdhw.frontend.read import load_mounted, mount
from rbdhw.robot.link_frames import choose_contacts, choose_loops
from rbdhw.robot.loops import EmbeddedLoop, read_loops
from rbdhw.robot.model import (
    BASE,
    UNLIMITED,
    Body,
    Contacts,
    Joint,
    JointKind,
    Mimic,
    Placement,
    Robot,
    Vector3,
)
from rbdhw.robot.mounting import Mounting
from tests.support.graph_results import prepared, results
from tests.support.marks import long
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.oracle import pinocchio_model, to_pinocchio_q, velocity_map
from tests.support.strategies import random_inertia, random_rotation, random_states

PARALLELOGRAM = Path(__file__).parents[1] / "robots" / "parallelogram.urdf"

POINTS = ("coupler@0.5:0:0", "rocker@0:0:0.3")

FEW = Contacts(damping=1e-10)
"""Contacts that hardly give way."""


def hinge(name: str, parent: int, placement: Placement, rng: np.random.Generator, sign: float = 1.0) -> Body:
    """Return a body on a hinge about z, or about -z."""
    joint = Joint(f"{name} joint", JointKind.CONTINUOUS, (0.0, 0.0, sign), placement, (UNLIMITED,))
    return Body(name, parent, joint, random_inertia(rng))


def linkage(sides: Sequence[complex], seed: int, chain: int = 0) -> tuple[Robot, tuple[str, str, str]]:
    """Return a four-bar on ``chain`` joints in a random plane, closed at zero, and the points of its loop.

    ``sides`` are its crank, its coupler and the frame, of any direction; the rocker is what they leave.
    """
    rng = np.random.default_rng(seed)
    robot = mechanism([JointKind.REVOLUTE] * chain, [i - 1 for i in range(chain)], seed)
    crank, coupler, frame = sides
    root, turn = Placement(random_rotation(rng), (0.1, -0.2, 0.3)), np.array(random_rotation(rng))
    root = replace(root, rotation=tuple(map(tuple, turn.tolist())))

    def at(point: complex) -> Vector3:
        return point.real, point.imag, 0.0

    moved = np.array(root.translation) + turn @ at(frame)
    other = Placement(root.rotation, tuple(moved.tolist()))
    signs = rng.choice([-1.0, 1.0], 3)
    bodies = (
        hinge("crank", chain - 1, root, rng, signs[0]),
        hinge("coupler", chain, Placement(translation=at(crank)), rng, signs[1]),
        hinge("rocker", chain - 1, other, rng, signs[2]),
    )
    x, y, z = at(coupler)
    a, b, c = at(crank + coupler - frame)
    return (
        robot.with_bodies((*robot.bodies, *bodies)),
        ("pin", f"coupler@{x!r}:{y!r}:{z!r}", f"rocker@{a!r}:{b!r}:{c!r}"),
    )


def sides(rng: np.random.Generator) -> list[complex]:
    """Return the crank and the frame of a parallelogram, with its coupler between."""
    crank, frame = (complex(*rng.uniform(-0.6, 0.6, 2)) for _ in range(2))
    return [crank, frame, frame]


def embedded(robot: Robot, loop: tuple[str, str, str], crank: str = "") -> Robot:
    return embed_loops(robot, [EmbeddedLoop(*loop, crank)])


@given(st.integers(0, 999), st.integers(0, 2), st.sampled_from(["", "crank joint", "rocker joint"]))
def test_parallelograms_have_the_dynamics_of_their_tree_projected(seed, chain, crank):
    robot, loop = linkage(sides(np.random.default_rng(seed)), seed, chain)
    single = embedded(robot, loop, crank)
    leader = crank or "crank joint"
    assert set(single.joints) == {*robot.joints[:chain], leader}
    assert {body.joint.mimic.offset for body in single.bodies if body.joint.mimic} == {0.0}
    states = random_states(single, 2, seed=seed)
    states["fext"][:] = 0.0
    answers = results(trace(prepared(single), ("id", "fd")), single, states, ("id", "fd"))
    model, G = pinocchio_model(single), velocity_map(single)
    assert np.abs(golden.loop_gaps(robot, _loop(robot, loop), _full(single, states["q"]))[0]).max() < 1e-12
    for k, q in enumerate(to_pinocchio_q(single, states["q"])):
        v, a = G @ states["v"][k], G @ states["a"][k]
        expected = G.T @ pin.rnea(model, model.createData(), q, v, a)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(answers["id"]["tau"][k], expected, rtol=0, atol=1e-9 * scale)
        M = pin.crba(model, model.createData(), q)
        M = G.T @ (np.triu(M) + np.triu(M, 1).T) @ G
        bias = G.T @ pin.rnea(model, model.createData(), q, v, np.zeros_like(v))
        expected = np.linalg.solve(M, states["tau"][k] - bias)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(answers["fd"]["a"][k], expected, rtol=0, atol=1e-8 * scale)


def _loop(robot, loop):
    return choose_loops(robot, [loop]).contacts.places


def _full(single: Robot, q: np.ndarray) -> np.ndarray:
    """Return coordinates of the tree without mimics."""
    columns = []
    for body, coordinates in zip(single.bodies, single.q_of, strict=True):
        mimic = body.joint.mimic or Mimic("", 1.0, 0.0)
        columns.append(mimic.multiplier * q[:, coordinates] + mimic.offset)
    return np.concatenate(columns, axis=1)


@pytest.mark.verify
@given(st.integers(0, 999))
def test_forces_beside_a_contact_do_what_mimics_do(seed):
    """A point of the coupler touches the world; forces hold one of both robots together, too."""
    robot, loop = linkage(sides(np.random.default_rng(seed)), seed, chain=3)
    single = replace(embedded(robot, loop), contacts=FEW)
    held = choose_loops(choose_contacts(replace(robot, contacts=FEW), [("coupler", "point")]), [loop])
    single = choose_contacts(single, [("coupler", "point")])
    states = random_states(single, 2, seed=seed) | {"contact": np.ones((2, 1))}
    states["fext"][:] = 0.0
    G = velocity_map(single)
    full = states | {"q": _full(single, states["q"]), "v": states["v"] @ G.T, "contact": np.ones((2, 2))}
    full["tau"] = states["tau"] @ np.linalg.pinv(G)
    expected = golden.evaluate(held, "cfd", full)
    solution = results(trace(prepared(single), ("cfd",)), single, states, ("cfd",))["cfd"]
    for ours, theirs in (
        (solution["a"] @ G.T, expected["a"]),
        (solution["contact_force"], expected["contact_force"][:, :1]),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * np.abs(theirs).max())


def test_a_loop_that_is_open_at_zero_gets_offsets():
    loop = ("pin", "coupler@0:0:-0.5", "rocker@0.3:0:0")
    robot = load_mounted(PARALLELOGRAM, Mounting())
    single = embedded(robot, loop)
    offsets = [body.joint.mimic.offset for body in single.bodies if body.joint.mimic]
    np.testing.assert_allclose(offsets, [-np.pi / 2, -np.pi / 2], atol=1e-12)
    q = np.linspace(-3.0, 3.0, 7)[:, None]
    assert np.abs(golden.loop_gaps(robot, _loop(robot, loop), _full(single, q))[0]).max() < 1e-12


def test_what_follows_a_follower_has_its_share_of_the_offset():
    loop = ("pin", "coupler@0:0:-0.5", "rocker@0.3:0:0")
    robot = load_mounted(PARALLELOGRAM, Mounting())
    (rocker,) = (k for k, body in enumerate(robot.bodies) if body.joint.name == "rocker_joint")
    gear = replace(hinge("gear", 1, Placement(), np.random.default_rng(0)), parent=rocker)
    geared = with_mimic(robot.with_bodies((*robot.bodies, gear)), len(robot.bodies), rocker, 0.4, 0.2)
    *_, leader, follower = (body.joint.mimic for body in embedded(geared, loop).bodies)
    assert leader.offset == pytest.approx(-np.pi / 2)
    assert follower == Mimic(leader.joint, 0.4 * leader.multiplier, 0.4 * leader.offset + 0.2)


def test_a_parallelogram_whose_sides_are_on_one_line_is_found_in_other_poses():
    robot, loop = linkage([0.3, 0.5, 0.5], seed=1)
    assert embedded(robot, loop).nq == 1
    assert embedded(robot, loop, "coupler joint").joints == ("coupler joint",)


def test_a_hinge_of_two_points_is_embedded_twice():
    robot = load_mounted(PARALLELOGRAM, Mounting())
    front, back = (
        EmbeddedLoop(name, f"coupler@0.5:{y}:0", f"rocker@0:{y}:0.3")
        for name, y in (("front", -0.1), ("back", 0.1))
    )
    assert embed_loops(robot, [front, back]) == embed_loops(robot, [front])
    held = choose_loops(embed_loops(robot, [front]), [back[:3]])
    assert embeddable_loops(held)[0].startswith("loops, back: it is closed whatever moves; embed = true")


def test_what_follows_a_follower_follows_the_crank():
    """Gears turn with joints of the loop, one by a fraction of its angle and another by a multiple."""
    robot, loop = linkage([0.3j, 0.5, 0.5], seed=2)
    gears = [
        replace(hinge(f"gear {k}", 1, Placement(), np.random.default_rng(k)), parent=1) for k in range(2)
    ]
    robot = robot.with_bodies((*robot.bodies, *gears))
    robot = with_mimic(with_mimic(robot, 3, 2, 0.4, 0.2), 4, 0, 3.0)
    single = embedded(robot, loop)
    rocker = single.bodies[2].joint.mimic
    assert single.bodies[3].joint.mimic == Mimic("crank joint", 0.4 * rocker.multiplier, 0.2)
    assert single.bodies[4].joint.mimic == Mimic("crank joint", 3.0)


@pytest.mark.parametrize("ratio", [2.0, 0.5, -1.5])
def test_a_parallelogram_of_geared_joints(ratio):
    """Its coupler is a mimic already; the rocker, a gear of another, still moves as the crank."""
    robot, loop = linkage([0.3j, 0.5, 0.5], seed=3)
    signs = [body.joint.axis[2] for body in robot.bodies]
    driver = hinge("driver", BASE, Placement(), np.random.default_rng(0))
    robot = robot.with_bodies((*robot.bodies, driver))
    robot = with_mimic(with_mimic(robot, 1, 0, -signs[0] * signs[1]), 2, 3, signs[2] * ratio)
    single = embedded(robot, loop)
    assert single.joints == ("crank joint",)
    assert single.bodies[3].joint.mimic == Mimic("crank joint", signs[0] / ratio)
    assert single.bodies[2].joint.mimic == Mimic("crank joint", signs[0] * signs[2])


NO_RATIOS = "cannot be embedded: its angles are in no fixed ratios"


@pytest.mark.parametrize(
    ("crank", "coupler", "frame", "reason"),
    [
        (0.1 + 0.3j, 0.1712, 0.3712, NO_RATIOS),  # a trapezoid
        long(0.0123 + 0.3j, 0.4712 + 0.0731j, 0.5123, NO_RATIOS),
        long(0.3j, 0.4, 0.5, "cannot be embedded: its points come "),  # its ratios at zero are simple
        (0.3j, 0.50001, 0.5, "cannot be embedded: its points come "),
        (0.3j, -0.3j, 0.5, "cannot be embedded: it holds joint 'coupler joint'"),
    ],
)
def test_other_linkages_are_refused(crank, coupler, frame, reason):
    robot, loop = linkage([crank, coupler, frame], seed=1)
    with pytest.raises(InputError) as caught:
        embedded(robot, loop)
    assert caught.value.where == "loops, pin"
    assert caught.value.reason.startswith(reason)
    assert caught.value.expected == "angles in fixed ratios, as in a parallelogram"
    assert caught.value.remedy == "leave out embed: forces then hold the loop"
    assert not embeddable_loops(choose_loops(robot, [loop]))


def test_an_antiparallelogram_is_no_parallelogram():
    """It has the sides of one, but is closed at zero with two of its sides crossed."""
    crank, frame = 0.3j, 0.5 + 0.1j
    across = frame - crank
    crossed = across * np.conj(frame / across)
    assert abs(crossed) == pytest.approx(abs(frame))
    robot, loop = linkage([crank, complex(crossed), frame], seed=1)
    with pytest.raises(InputError, match="cannot be embedded"):
        embedded(robot, loop)
    assert embedded(*linkage([crank, frame, frame], seed=1)).nq == 1


def test_joints_that_cannot_follow_are_refused():
    robot, loop = linkage([0.3j, 0.5, 0.5], seed=1)
    with pytest.raises(
        InputError, match=r"the crank 'elbow' is none of the joints .* expected one of crank j"
    ):
        embedded(robot, loop, "elbow")
    slider = replace(robot.bodies[1].joint, kind=JointKind.PRISMATIC)
    sliding = robot.with_bodies((robot.bodies[0], replace(robot.bodies[1], joint=slider), robot.bodies[2]))
    with pytest.raises(InputError, match="joint 'coupler joint' is prismatic; expected joints that rotate"):
        embedded(sliding, loop)
    with pytest.raises(InputError, match="cannot close"):
        embedded(robot, ("pin", "coupler@9:0:0", loop[2]))
    longer = robot.with_bodies((*robot.bodies, hinge("more", 1, Placement(), np.random.default_rng(0))))
    with pytest.raises(InputError, match="cannot be embedded: its joints have 2 freedoms"):
        embedded(longer, ("pin", "more@0.1:0.4:0", "rocker@0.1:0:0"))


def test_loops_of_files(tmp_path):
    file = tmp_path / "loops.toml"
    table = '[pin]\nfirst = "coupler@0.5:0:0"\nsecond = "rocker@0:0:0.3"\n'
    file.write_text(table + 'embed = true\ncrank = "rocker_joint"')
    assert read_loops(file) == (EmbeddedLoop("pin", *POINTS, "rocker_joint"),)
    file.write_text(table + "embed = false")
    assert read_loops(file) == (("pin", *POINTS),)
    for entry, reason in (
        ('crank = "rocker_joint"', "has a crank, but is not embedded"),
        ("embed = 1", "is no table of two points"),
        ('embed = true\ncrank = ""', "is no table of two points"),
        ("weld = true", "is no table of two points"),
    ):
        file.write_text(table + entry)
        with pytest.raises(InputError, match=reason):
            read_loops(file)


@pytest.mark.parametrize("base", ["fixed", "floating", "given"])
def test_embedded_loops_are_no_contacts(base):
    robot = load_mounted(PARALLELOGRAM, Mounting())
    mounting = Mounting(base, loops=(EmbeddedLoop("pin", *POINTS),))
    mounted = mount(robot, mounting)
    assert (mounted.joints[-1], mounted.contacts.places) == ("crank_joint", ())
    assert not mounting.constrained


def generated(tmp_path: Path, functions: str, entry: str = "embed = true", **options: object) -> Path:
    file = tmp_path / "loops.toml"
    file.write_text(f'[pin]\nfirst = "coupler@0.5:0:0"\nsecond = "rocker@0:0:0.3"\n{entry}\n')
    rbdhw.generate(PARALLELOGRAM, tmp_path / "design", functions=functions, loops=file, **options)
    return tmp_path / "design"


def test_software_has_the_crank_alone(tmp_path):
    acc = rbdhw.load(generated(tmp_path, "fd,cfd", target="c", contacts="coupler:point"))
    assert acc.manifest["robot"]["contacts"].get("loops") is None
    mimics = mount(load_mounted(PARALLELOGRAM, Mounting()), Mounting(loops=(EmbeddedLoop("pin", *POINTS),)))
    task = {"q": np.array([0.4]), "v": np.array([-1.3]), "tau": np.array([2.0])}
    expected = golden.evaluate(mimics, "fd", {name: value[None] for name, value in task.items()})["a"][0]
    np.testing.assert_allclose(acc.fd(**task).a, expected, rtol=1e-12)
    np.testing.assert_allclose(acc.cfd(**task, contact=[0]).a, expected, rtol=1e-9)
    assert np.abs(acc.cfd(**task).a) < 1e-3


@pytest.mark.usefixtures("only_heading")
def test_accelerators_have_the_crank_alone(tmp_path):
    design = generated(tmp_path, "fd", width=18)
    words = {"q": np.array([0.4]), "v": np.array([-1.3]), "tau": np.array([2.0])}
    exact, model = (rbdhw.load(design, engine=engine).fd(**words).a for engine in ("golden", "model"))
    assert exact.shape == (1,)
    np.testing.assert_allclose(model, exact, rtol=1e-2)
