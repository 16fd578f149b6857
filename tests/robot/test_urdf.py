"""Reading URDF files: the resulting robot, and the exact message for each refusal."""

from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.robot.model import BASE, Inertia
from rbdhw.robot.urdf import load_urdf
from tests.support.example_robots import EXAMPLES
from tests.support.oracle import pinocchio_model
from tests.support.refusals import assert_refused, assert_taken
from tests.support.urdf_documents import ARM, AXIS, INERTIAL, LIMIT, arm_with, joint, link, robot

FREE = (link("world", ""), link("trunk"), joint("free", "world", "trunk", "floating", ""))


EMPTY = "ur3"
"""The one published file without links, which describes no robot."""

ROBOTS = [path for path in EXAMPLES if path.stem != EMPTY]


def test_the_published_file_without_links_is_refused():
    (path,) = (path for path in EXAMPLES if path.stem == EMPTY)
    with pytest.raises(InputError) as refusal:
        load_urdf(path)
    assert str(refusal.value) == f"{path}, <robot>: no <link>; expected at least one"


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
        names = [f"link{i}" for i in range(3000)]
        joints = [joint(f"to_{b}", a, b) for a, b in pairwise(names)]
        assert load(robot(*map(link, names), *joints)).nv == 2999

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
        assert str(refusal.value) == (
            "robot.urdf, link 'arm': has no inertia about or along joint 'shoulder', and carries none; "
            "expected an <inertial> there or on a link that moves with it; "
            "leave out --strict (then taken as it is, with a singular mass matrix)"
        )

    def test_refused_by_a_strict_reading_as_a_point_on_its_own_axis(self, load):
        zero = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
        point = f'<inertial><origin xyz="0 0 1"/><mass value="1"/>{zero}</inertial>'
        with pytest.raises(InputError, match="link 'arm': has no inertia about or along joint 'shoulder'"):
            load(robot(link("base"), link("arm", point), joint("shoulder", "base", "arm")), strict=True)
        load(
            robot(link("base"), link("arm", point), joint("shoulder", "base", "arm", "prismatic")),
            strict=True,
        )


def arm_with_mass(text):
    return arm_with(INERTIAL.replace('<mass value="2"/>', text))


def arm_with_inertia(**entries):
    values = {"ixx": 0.02, "ixy": 0, "ixz": 0, "iyy": 0.03, "iyz": 0, "izz": 0.04} | entries
    listed = " ".join(f'{key}="{value}"' for key, value in values.items() if value is not None)
    return arm_with(f'<inertial><mass value="2"/><inertia {listed}/></inertial>')


POINT = (
    '<inertial><origin xyz="0 0 1"/><mass value="1"/>'
    '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>'
)
ALONE = "expected the one joint that moves links relative to the root"
EXPECTED_FLOATING = f'{ALONE}; describe what floats in a file of its own (docs/joints.md, "Free bodies")'
CAMERA = (link("camera", ""), joint("pose", "base", "camera", "floating", ""))
BILLION_LAUGHS = '<!DOCTYPE robot [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><robot name="&b;"/>'
CYCLE = (joint("ab", "a", "b"), joint("ba", "b", "a"))

REFUSED = {
    "empty": ("", "not well-formed XML (no element found: line 1, column 0); expected a URDF file"),
    "not XML": (
        "solid cube",
        "not well-formed XML (syntax error: line 1, column 0); expected a URDF file",
    ),
    "unclosed": (
        '<robot name="r"><link name="a"></robot>',
        "not well-formed XML (mismatched tag: line 1, column 33); expected a URDF file",
    ),
    "two documents": (
        robot(*ARM) * 2,
        "not well-formed XML (junk after document element: line 1, column "
        f"{len(robot(*ARM))}); expected a URDF file",
    ),
    "not UTF-8": (
        robot(*ARM, "<!-- \xe9 -->").encode("latin-1"),
        f"<robot>: not UTF-8 text (byte {len(robot(*ARM)) - 3}); expected a URDF file in UTF-8",
    ),
    "external DOCTYPE": (
        f'<?xml version="1.0"?><!-- c --><!DOCTYPE robot SYSTEM "file:///etc/passwd">{robot(*ARM)}',
        "a DOCTYPE declaration (robot); expected plain XML without one",
    ),
    "entities": (BILLION_LAUGHS, "a DOCTYPE declaration (robot); expected plain XML without one"),
    "undeclared entity": (
        '<robot name="&x;"/>',
        "not well-formed XML (undefined entity: line 1, column 0); expected a URDF file",
    ),
    "not a URDF": ("<sdf/>", "<sdf>: not a URDF; expected <robot> as the outermost element"),
    "xacro": (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="x"/></robot>',
        "<xacro:include>: not expanded; expected the URDF that xacro makes of the file; "
        "run: xacro robot.urdf > expanded.urdf",
    ),
    "xacro beside links": (
        robot(*ARM, '<xacro:include filename="x"/><xacro:include filename="y"/>'),
        "<xacro:include>: not expanded; expected the URDF that xacro makes of the file",
    ),
    "unnamed robot": (
        f"<robot>{''.join(ARM)}</robot>",
        '<robot>: has no name; expected name="..."',
    ),
    "no link": (robot(), "<robot>: no <link>; expected at least one"),
    "no root": (
        robot(link("a"), link("b"), *CYCLE),
        "<robot>: no root link, but a cycle of 'b' -> 'a' -> 'b'; expected a tree with one root link",
    ),
    "link below itself": (
        robot(link("a"), joint("aa", "a", "a")),
        "<robot>: no root link, but a cycle of 'a' -> 'a'; expected a tree with one root link",
    ),
    "two roots": (
        robot(*ARM, link("other")),
        "<robot>: 2 root links: 'base', 'other'; expected one root link",
    ),
    "cycle": (
        robot(*ARM, link("a"), link("b"), *CYCLE),
        "link 'a': in or below a cycle of 'b' -> 'a' -> 'b'; expected a tree of links",
    ),
    "duplicate link": (
        robot(*ARM, link("arm")),
        "link 'arm': given twice; expected unique link names",
    ),
    "duplicate joint": (
        robot(*ARM, link("hand"), joint("shoulder", "arm", "hand")),
        "joint 'shoulder': given twice; expected unique joint names",
    ),
    "unnamed link": (robot(*ARM, "<link/>"), '<link>: <link> has no name; expected name="..."'),
    "blank name": (robot(*ARM, link(" ")), '<link>: <link> has no name; expected name="..."'),
    "floating below a moving link": (
        robot(*ARM, link("hand"), joint("wrist", "arm", "hand", "floating", "")),
        f"joint 'wrist': floating away from the root link 'base'; {EXPECTED_FLOATING}",
    ),
    "floating before another child of the root": (
        robot(link("hand"), joint("wrist", "base", "hand", "floating", ""), *ARM),
        f"joint 'wrist': floating away from the root link 'base'; {EXPECTED_FLOATING}",
    ),
    "floating with a mass below": (
        robot(*ARM, *CAMERA, link("lens"), joint("focus", "camera", "lens", "prismatic")),
        f"joint 'pose': floating away from the root link 'base'; {EXPECTED_FLOATING}",
    ),
    "floating without mass": (
        robot(*ARM, *CAMERA),
        f"joint 'pose': floating away from the root link, without mass; {ALONE}",
    ),
    "floating without mass, below an arm": (
        robot(*ARM, *CAMERA).replace(
            '<parent link="base"/><child link="camera"/>', '<parent link="arm"/><child link="camera"/>'
        ),
        f"joint 'pose': floating away from the root link, without mass; {ALONE}",
    ),
    "floating twice": (
        robot(*FREE, link("b"), joint("again", "trunk", "b", "floating", "")),
        f"joint 'again': floating away from the root link 'world'; {EXPECTED_FLOATING}",
    ),
    "point on a spherical joint": (
        arm_with(POINT, kind="spherical", rest=""),
        "link 'arm': has no inertia about or along joint 'shoulder', and carries none; "
        "expected an <inertial> there or on a link that moves with it",
    ),
    "no mass": (arm_with_mass(""), "link 'arm': no <mass>; expected <mass> in <inertial>"),
    "empty mass": (
        arm_with_mass("<mass/>"),
        "link 'arm': <mass> has no value; expected value=\"...\"",
    ),
    "negative mass": (
        arm_with_mass('<mass value="-2"/>'),
        "link 'arm': <mass> is -2; expected zero or more kilograms",
    ),
    "NaN mass": (
        arm_with_mass('<mass value="nan"/>'),
        "link 'arm': <mass> has value=\"nan\"; expected a finite number",
    ),
    "mass with a unit": (
        arm_with_mass('<mass value="1.0kg"/>'),
        "link 'arm': <mass> has value=\"1.0kg\"; expected a finite number",
    ),
    "mass in Python's notation": (
        arm_with_mass('<mass value="1_0"/>'),
        "link 'arm': <mass> has value=\"1_0\"; expected a finite number",
    ),
    "mass on two lines": (
        arm_with_mass('<mass value="1&#10;2"/>'),
        "link 'arm': <mass> has value=\"1 2\"; expected a finite number",
    ),
    "no inertia": (
        arm_with('<inertial><mass value="2"/></inertial>'),
        "link 'arm': no <inertia>; expected <inertia> in <inertial>",
    ),
    "missing inertia entry": (
        arm_with_inertia(iyz=None),
        "link 'arm': <inertia> has no iyz; expected iyz=\"...\"",
    ),
    "indefinite inertia": (
        arm_with_inertia(ixy=0.05),
        "link 'arm': <inertia> is not positive semidefinite (principal moments -0.0252494, 0.04, 0.0752494); "
        "expected none below zero",
    ),
    "triangle inequality": (
        arm_with_inertia(izz=0.06),
        "link 'arm': <inertia> breaks the triangle inequality (principal moments 0.02, 0.03, 0.06); "
        "expected no moment above the sum of the other two",
    ),
}

TAKEN = {
    "unnamed robot": "as 'robot'",
    "not UTF-8": "as Latin-1",
    "no mass": "as no inertia, as Pinocchio does",
    "empty mass": "as no inertia, as Pinocchio does",
    "no inertia": "as a point mass, as Pinocchio does",
    "missing inertia entry": "as a point mass, as Pinocchio does",
    "indefinite inertia": "as it is",
    "triangle inequality": "as it is",
    "point on a spherical joint": "as it is, with a singular mass matrix",
    "xacro beside links": "without it",
    "floating without mass": "as fixed, which changes no force of another joint",
    "floating without mass, below an arm": "as fixed, which changes no force of another joint",
}
"""Problems that are tolerated with a remark, by case."""


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
        place = theirs.joints[theirs.getJointId("shoulder")].idx_q
        task = {"q": q[None, place : place + 1], "v": v[None, k : k + 1], "a": a[None, k : k + 1]}
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


UNNOTICED = {
    "unbound prefixes": robot(*ARM, '<drake:proximity a="1"/><gazebo sensor:b="2"/>'),
    "a default namespace": robot(*ARM).replace("<robot ", '<robot xmlns="http://drake.mit.edu" '),
    "the namespace of xacro": robot(*ARM).replace(
        "<robot ", '<robot xmlns:xacro="http://www.ros.org/xacro" '
    ),
    "a bare DOCTYPE": f"<!DOCTYPE robot>{robot(*ARM)}",
    "dashes in a comment": f"<!-- ---- a -- b -- -->{robot(*ARM)}<!-- -->",
    "markup in a comment": robot(*ARM, "<!-- <link name='c'/> -->"),
    "a blank line before the declaration": f'\n <?xml version="1.0" encoding="utf-8"?>{robot(*ARM)}',
    "rounding noise in an inertia": arm_with(INERTIAL.replace('ixy="0"', 'ixy="-2e-22"')),
    "a moment that rounding makes negative": arm_with(
        INERTIAL.replace('iyy="0.03" iyz="0" izz="0.04"', 'iyy="-1e-12" iyz="0" izz="0.02"')
    ),
}


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
    assert_refused(load, text, "not well-formed XML (mismatched tag: line 5, column 8); expected a URDF file")


def test_a_doctype_is_refused_before_its_entities_expand(load):
    nested = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(30))
    text = f'<!DOCTYPE robot [<!ENTITY e0 "ha">{nested}]><robot name="&e30;"/>'
    with pytest.raises(InputError, match="DOCTYPE"):
        load(text)


def test_rounding_may_break_the_triangle_inequality_a_little(load):
    assert load(arm_with_inertia(izz=0.05 * (1 + 1e-7))).nv == 1


def test_a_missing_file(tmp_path):
    file = tmp_path / "missing.urdf"
    with pytest.raises(InputError) as refusal:
        load_urdf(file)
    assert str(refusal.value) == f"{file}: no such file; expected the path of a URDF file"


def test_a_directory(tmp_path):
    with pytest.raises(InputError) as refusal:
        load_urdf(tmp_path)
    assert str(refusal.value) == f"{tmp_path}: is a directory; expected the path of a URDF file"


def test_a_path_through_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    file = tmp_path / "file" / "robot.urdf"
    with pytest.raises(InputError) as refusal:
        load_urdf(file)
    assert str(refusal.value) == (
        f"{file}: cannot be read (Not a directory); expected the path of a URDF file"
    )
