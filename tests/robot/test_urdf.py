"""Reading URDF files: the resulting robot, and the exact message for each refusal."""

from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.robot.model import BASE, Inertia
from rbdhw.robot.urdf import load_urdf
from tests.support.bad.documents import FREE, REFUSED, TAKEN, UNNOTICED, arm_with_inertia
from tests.support.example_robots import EXAMPLES
from tests.support.oracle import pinocchio_model
from tests.support.refusals import assert_refused, assert_taken
from tests.support.urdf_documents import ARM, AXIS, INERTIAL, LIMIT, arm_with, joint, link, robot

EMPTY = "ur3"
"""The one published file without links, which describes no robot."""

ROBOTS = [path for path in EXAMPLES if path.stem != EMPTY]


def test_the_published_file_without_links_is_refused():
    (path,) = (path for path in EXAMPLES if path.stem == EMPTY)
    with pytest.raises(InputError) as refusal:
        load_urdf(path)
    assert str(refusal.value).startswith(f"{path}, <robot>: no <link>; ")


def moving_joints(robot):
    return [body.joint.name for body in robot.bodies]


class TestJointOrder:
    TREE = robot(
        *[link(name) for name in ("z", "y", "x", "w", "v", "root", "flange", "a")],
        joint("to_z", "root", "z"),
        joint("to_y", "root", "y"),
        joint("mount", "root", "flange", "fixed", ""),
        joint("to_a", "flange", "a"),
        joint("to_x", "y", "x"),
        joint("to_w", "y", "w"),
        joint("to_v", "w", "v"),
    )

    def test_is_depth_first_by_joint_name_as_in_pinocchio(self, load):
        tree = load(self.TREE)
        assert tree.base == "root"
        assert [body.name for body in tree.bodies] == ["a", "y", "w", "v", "x", "z"]
        assert [body.parent for body in tree.bodies] == [BASE, BASE, 1, 2, 1, BASE]
        assert tree.joints == ("to_a", "to_y", "to_w", "to_v", "to_x", "to_z")
        assert tree.joints == tuple(pin.buildModelFromXML(self.TREE).names)[1:]
        assert tree.joint_order == "pinocchio"

    def test_is_that_of_the_file_on_request(self, load):
        tree = load(self.TREE, joint_order="file")
        assert tree.joints == ("to_z", "to_y", "to_x", "to_w", "to_v", "to_a")
        assert tree.joint_order == "file"

    def test_is_by_bytes_as_in_pinocchio(self, load):
        names = ("é", "z", "_", "B", "a", "10", "9", "a_b", "a b", "aB", "\U0001f600", "\uffee")
        text = robot(link("root"), *map(link, names), *(joint(name, "root", name) for name in names))
        assert load(text).joints == tuple(pin.buildModelFromXML(text).names)[1:]

    @pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
    def test_of_published_robots_is_that_of_pinocchio(self, path):
        expected = list(pin.buildModelFromUrdf(str(path)).names)[1:]
        assert moving_joints(load_urdf(path)) == expected


class TestReading:
    def test_inertia_is_about_the_link_frame(self, load):
        (body,) = load(robot(*ARM)).bodies
        assert body.inertia.mass == 2.0
        assert body.inertia.first_moment == pytest.approx((0.2, 0.4, 0.6))
        expected = (0.02 + 2 * 0.13, -2 * 0.02, -2 * 0.03, 0.03 + 2 * 0.1, -2 * 0.06, 0.04 + 2 * 0.05)
        assert body.inertia.rotational == pytest.approx(expected)

    def test_several_inertials_are_summed_with_a_remark(self, load):
        doubled = load(arm_with(INERTIAL * 2), strict=True)
        assert doubled.remarks == ("link 'arm': 2 <inertial> elements; taken their sum, not the first",)
        turned = INERTIAL.replace('xyz="0.1 0.2 0.3"', 'xyz="-1 0 0" rpy="0 0 1.5707963267948966"')
        once, other, both = (
            load(robot(link("base"), link("arm", text), joint("j", "base", "arm"))).bodies[0].inertia
            for text in (INERTIAL, turned, INERTIAL + turned)
        )
        assert other.rotational == pytest.approx((0.03, 0.0, 0.0, 2.02, 0.0, 2.04))
        assert both.mass == 4.0
        assert both.first_moment == pytest.approx(np.add(once.first_moment, other.first_moment))
        assert both.rotational == pytest.approx(np.add(once.rotational, other.rotational))

    def test_fixed_links_are_merged_with_their_inertia(self, load):
        origin = '<origin xyz="0.3 0 0.1" rpy="0.4 0.5 0.6"/>'
        text = robot(
            *[link(name) for name in ("base", "foot", "arm", "tool", "camera", "finger")],
            joint("stand", "base", "foot", "fixed", origin),
            joint("shoulder", "foot", "arm", rest=origin + AXIS + LIMIT),
            joint("flange", "arm", "tool", "fixed", origin),
            joint("mount", "tool", "camera", "fixed", origin),
            joint("grip", "camera", "finger", "prismatic", origin + '<axis xyz="1 2 3"/>' + LIMIT),
        )
        tree = load(text)
        assert tree.fixed_links == (("foot", "base"), ("tool", "arm"), ("camera", "arm"))
        assert [(body.name, body.parent) for body in tree.bodies] == [("arm", BASE), ("finger", 0)]
        assert tree.base_inertia.mass == 4.0
        ours, theirs = pinocchio_model(tree), pin.buildModelFromXML(text)
        for k in range(2):
            np.testing.assert_allclose(ours.jointPlacements[k + 1], theirs.jointPlacements[k + 1], atol=1e-14)
            np.testing.assert_allclose(
                ours.inertias[k + 1].matrix(), theirs.inertias[k + 1].matrix(), atol=1e-13
            )

    def test_unknown_elements_are_ignored(self, load):
        extra = '<gazebo/><material name="m"/><transmission name="t"><joint name="j"/></transmission>'
        visual = '<visual><origin xyz="0 0 nonsense"/></visual><collision/>'
        assert load(robot(*ARM, extra)) == load(robot(*ARM))
        assert load(robot(link("base"), link("arm", INERTIAL + visual), ARM[2])) == load(robot(*ARM))

    def test_a_single_link_is_a_robot_without_joints(self, load):
        alone = load(robot(link("base")))
        assert alone.nv == 0
        assert alone.base_inertia.mass == 2.0

    def test_a_byte_order_mark_and_a_declaration_are_fine(self, load):
        text = '\ufeff<?xml version="1.0" encoding="latin-1"?>' + robot(*ARM).replace('"r"', '"é"')
        assert load(text).name == "é"

    def test_very_long_chains_are_read(self, load):
        names = [f"link{i}" for i in range(1200)]
        joints = [joint(f"to_{b}", a, b) for a, b in pairwise(names)]
        assert load(robot(*map(link, names), *joints)).nv == 1199

    def test_a_floating_joint_frees_the_roots_only_child(self, load):
        free = load(robot(*FREE, link("foot"), joint("ground", "world", "foot", "fixed", "")))
        assert free.floats
        assert (free.base, free.bodies[0].name) == ("world", "trunk")
        assert free.fixed_links == (("foot", "world"),)
        assert free.base_inertia.mass == 2.0


class TestMasslessLinks:
    def test_allowed_where_the_links_it_carries_have_inertia(self, load):
        links = [link("base", ""), link("hip", ""), link("leg"), link("tip", "")]
        joints = [joint("a", "base", "hip"), joint("b", "hip", "leg"), joint("c", "leg", "tip", "fixed", "")]
        assert load(robot(*links, *joints)).bodies[0].inertia == Inertia()

    def test_allowed_where_a_link_fixed_to_it_has_inertia(self, load):
        links = [link("base"), link("flange", ""), link("tool")]
        tree = load(robot(*links, joint("a", "base", "flange"), joint("b", "flange", "tool", "fixed", "")))
        assert tree.bodies[0].inertia.mass == 2.0

    @pytest.mark.parametrize("kind", ["revolute", "prismatic"])
    def test_refused_by_a_strict_reading_at_the_end_of_a_limb(self, load, kind):
        with pytest.raises(InputError) as refusal:
            load(robot(link("base"), link("arm", ""), joint("shoulder", "base", "arm", kind)), strict=True)
        reason = "has no inertia about or along joint 'shoulder', and carries none"
        assert (refusal.value.where, refusal.value.reason) == ("robot.urdf, link 'arm'", reason)

    def test_refused_by_a_strict_reading_as_a_point_on_its_own_axis(self, load):
        zero = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
        point = f'<inertial><origin xyz="0 0 1"/><mass value="1"/>{zero}</inertial>'
        with pytest.raises(InputError, match="link 'arm': has no inertia about or along joint 'shoulder'"):
            load(robot(link("base"), link("arm", point), joint("shoulder", "base", "arm")), strict=True)
        load(
            robot(link("base"), link("arm", point), joint("shoulder", "base", "arm", "prismatic")),
            strict=True,
        )


@pytest.mark.parametrize("case", [case for case in REFUSED if case not in TAKEN])
@pytest.mark.parametrize("strict", [False, True])
def test_bad_input_is_refused_in_one_clear_line(load, case, strict):
    assert_refused(load, *REFUSED[case], strict=strict)


class TestTolerantReading:
    @pytest.mark.parametrize("case", TAKEN)
    def test_tolerates_problems_with_a_remark(self, load, case):
        assert_taken(load, *REFUSED[case], TAKEN[case])

    def test_of_a_clean_file_is_the_strict_one(self, load):
        assert load(robot(*ARM), strict=True) == load(robot(*ARM))
        assert load(robot(*ARM)).remarks == load(robot(*ARM), strict=True).remarks == ()

    @pytest.mark.parametrize("case", [case for case in TAKEN if case.startswith("floating")])
    def test_holds_what_floats_without_mass(self, load, case):
        """Pinocchio gives it coordinates, which no other force depends on, and forces of zero."""
        ours, theirs = load(REFUSED[case][0]), pin.buildModelFromXML(REFUSED[case][0])
        assert [body.joint.name for body in ours.bodies] == ["shoulder"]
        assert ("camera", "base" if case == "floating without mass" else "arm") in ours.fixed_links
        k = theirs.joints[theirs.getJointId("shoulder")].idx_v
        v, a = np.random.default_rng(5).normal(size=(2, theirs.nv))
        q = pin.integrate(theirs, pin.neutral(theirs), np.full(theirs.nv, 0.7))
        first = theirs.joints[theirs.getJointId("shoulder")].idx_q
        task = {"q": q[None, first : first + 1], "v": v[None, k : k + 1], "a": a[None, k : k + 1]}
        expected = np.zeros(theirs.nv)
        expected[k] = golden.evaluate(ours, "id", task)["tau"][0, 0]
        np.testing.assert_allclose(pin.rnea(theirs, theirs.createData(), q, v, a), expected, atol=1e-12)

    def test_takes_an_incomplete_inertia_as_pinocchio_does(self, load):
        text = REFUSED["missing inertia entry"][0]
        (body,), theirs = load(text).bodies, pin.buildModelFromXML(text).inertias[1]
        assert body.inertia.mass == theirs.mass == 2.0
        assert body.inertia.rotational == (0.0,) * 6
        np.testing.assert_array_equal(theirs.inertia, np.zeros((3, 3)))

    def test_counts_links_and_shows_the_first_ones_moments(self, load):
        entries = 'ixx="{}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"'
        odd = f'<inertial><mass value="2"/><inertia {entries}/></inertial>'
        links = [link("base"), link("a", odd.format(3)), link("b", odd.format(4))]
        tree = load(robot(*links, joint("to_a", "base", "a"), joint("to_b", "base", "b")))
        assert tree.remarks == (
            "links 'a' and 'b': <inertia> breaks the triangle inequality (of 'a' principal moments 1, 1, 3); "
            "taken as it is",
        )


@pytest.mark.parametrize("case", UNNOTICED)
@pytest.mark.parametrize("strict", [False, True])
def test_harmless_oddities_are_accepted_without_a_remark(load, case, strict):
    text = UNNOTICED[case]
    tree, theirs = load(text, strict=strict), pin.buildModelFromXML(text)
    assert tree.remarks == ()
    assert tree.joints == tuple(theirs.names)[1:] == ("shoulder",)
    assert tree.bodies[0].inertia.mass == theirs.inertias[1].mass == 2.0


def test_lines_are_counted_with_their_comments(load):
    text = "<!-- a\n -- b\n-->\n<robot name='r'>\n<link></robot>"
    assert_refused(load, text, "not well-formed XML (mismatched tag: line 5, column 8)")


def test_a_doctype_is_refused_before_its_entities_expand(load):
    nested = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(30))
    text = f'<!DOCTYPE robot [<!ENTITY e0 "ha">{nested}]><robot name="&e30;"/>'
    with pytest.raises(InputError, match="DOCTYPE"):
        load(text)


def test_rounding_may_break_the_triangle_inequality_a_little(load):
    assert load(arm_with_inertia(izz=0.05 * (1 + 1e-7))).nv == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [("none", "no such file"), ("", "is a directory"), ("file/below", "cannot be read (Not a directory)")],
)
def test_places_without_a_file(tmp_path, name, reason):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as refusal:
        load_urdf(tmp_path / name)
    assert (refusal.value.where, refusal.value.reason) == (str(tmp_path / name), reason)
