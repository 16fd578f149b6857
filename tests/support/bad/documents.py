"""URDFs that are refused, tolerated with a remark, or odd and harmless."""

from tests.support.urdf_documents import ARM, INERTIAL, arm_with, joint, link, robot

FREE = (link("world", ""), link("trunk"), joint("free", "world", "trunk", "floating", ""))


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


CAMERA = (link("camera", ""), joint("pose", "base", "camera", "floating", ""))


BILLION_LAUGHS = '<!DOCTYPE robot [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><robot name="&b;"/>'


CYCLE = (joint("ab", "a", "b"), joint("ba", "b", "a"))


REFUSED = {
    "empty": ("", "not well-formed XML (no element found: line 1, column 0)"),
    "not XML": ("solid cube", "not well-formed XML (syntax error: line 1, column 0)"),
    "unclosed": (
        '<robot name="r"><link name="a"></robot>',
        "not well-formed XML (mismatched tag: line 1, column 33)",
    ),
    "two documents": (
        robot(*ARM) * 2,
        f"not well-formed XML (junk after document element: line 1, column {len(robot(*ARM))})",
    ),
    "not UTF-8": (
        robot(*ARM, "<!-- \xe9 -->").encode("latin-1"),
        f"<robot>: not UTF-8 text (byte {len(robot(*ARM)) - 3})",
    ),
    "external DOCTYPE": (
        f'<?xml version="1.0"?><!-- c --><!DOCTYPE robot SYSTEM "file:///etc/passwd">{robot(*ARM)}',
        "a DOCTYPE declaration (robot)",
    ),
    "entities": (BILLION_LAUGHS, "a DOCTYPE declaration (robot)"),
    "undeclared entity": ('<robot name="&x;"/>', "not well-formed XML (undefined entity: line 1, column 0)"),
    "not a URDF": ("<sdf/>", "<sdf>: not a URDF"),
    "xacro": (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="x"/></robot>',
        "<xacro:include>: not expanded",
    ),
    "xacro beside links": (
        robot(*ARM, '<xacro:include filename="x"/><xacro:include filename="y"/>'),
        "<xacro:include>: not expanded",
    ),
    "unnamed robot": (f"<robot>{''.join(ARM)}</robot>", "<robot>: has no name"),
    "no link": (robot(), "<robot>: no <link>"),
    "no root": (
        robot(link("a"), link("b"), *CYCLE),
        "<robot>: no root link, but a cycle of 'b' -> 'a' -> 'b'",
    ),
    "link below itself": (
        robot(link("a"), joint("aa", "a", "a")),
        "<robot>: no root link, but a cycle of 'a' -> 'a'",
    ),
    "two roots": (robot(*ARM, link("other")), "<robot>: 2 root links: 'base', 'other'"),
    "cycle": (
        robot(*ARM, link("a"), link("b"), *CYCLE),
        "link 'a': in or below a cycle of 'b' -> 'a' -> 'b'",
    ),
    "duplicate link": (robot(*ARM, link("arm")), "link 'arm': given twice"),
    "duplicate joint": (
        robot(*ARM, link("hand"), joint("shoulder", "arm", "hand")),
        "joint 'shoulder': given twice",
    ),
    "unnamed link": (robot(*ARM, "<link/>"), "<link>: <link> has no name"),
    "blank name": (robot(*ARM, link(" ")), "<link>: <link> has no name"),
    "floating below a moving link": (
        robot(*ARM, link("hand"), joint("wrist", "arm", "hand", "floating", "")),
        "joint 'wrist': floating away from the root link 'base'",
    ),
    "floating before another child of the root": (
        robot(link("hand"), joint("wrist", "base", "hand", "floating", ""), *ARM),
        "joint 'wrist': floating away from the root link 'base'",
    ),
    "floating with a mass below": (
        robot(*ARM, *CAMERA, link("lens"), joint("focus", "camera", "lens", "prismatic")),
        "joint 'pose': floating away from the root link 'base'",
    ),
    "floating without mass": (
        robot(*ARM, *CAMERA),
        "joint 'pose': floating away from the root link, without mass",
    ),
    "floating without mass, below an arm": (
        robot(*ARM, *CAMERA).replace(
            '<parent link="base"/><child link="camera"/>', '<parent link="arm"/><child link="camera"/>'
        ),
        "joint 'pose': floating away from the root link, without mass",
    ),
    "floating twice": (
        robot(*FREE, link("b"), joint("again", "trunk", "b", "floating", "")),
        "joint 'again': floating away from the root link 'world'",
    ),
    "point on a spherical joint": (
        arm_with(POINT, kind="spherical", rest=""),
        "link 'arm': has no inertia about or along joint 'shoulder', and carries none",
    ),
    "no mass": (arm_with_mass(""), "link 'arm': no <mass>"),
    "empty mass": (arm_with_mass("<mass/>"), "link 'arm': <mass> has no value"),
    "negative mass": (arm_with_mass('<mass value="-2"/>'), "link 'arm': <mass> is -2"),
    "NaN mass": (arm_with_mass('<mass value="nan"/>'), "link 'arm': <mass> has value=\"nan\""),
    "mass with a unit": (arm_with_mass('<mass value="1.0kg"/>'), "link 'arm': <mass> has value=\"1.0kg\""),
    "mass in Python's notation": (
        arm_with_mass('<mass value="1_0"/>'),
        "link 'arm': <mass> has value=\"1_0\"",
    ),
    "mass on two lines": (arm_with_mass('<mass value="1&#10;2"/>'), "link 'arm': <mass> has value=\"1 2\""),
    "no inertia": (arm_with('<inertial><mass value="2"/></inertial>'), "link 'arm': no <inertia>"),
    "missing inertia entry": (arm_with_inertia(iyz=None), "link 'arm': <inertia> has no iyz"),
    "indefinite inertia": (
        arm_with_inertia(ixy=0.05),
        "link 'arm': <inertia> is not positive semidefinite (principal moments -0.0252494, 0.04, 0.0752494)",
    ),
    "triangle inequality": (
        arm_with_inertia(izz=0.06),
        "link 'arm': <inertia> breaks the triangle inequality (principal moments 0.02, 0.03, 0.06)",
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
