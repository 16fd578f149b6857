"""URDFs whose joints are refused, tolerated with a remark, or tolerated in silence."""

from tests.support.urdf_documents import ARM, AXIS, LIMIT, arm_with, hand, joint, link, mimic, robot


def arm_with_limit(text):
    return arm_with(rest=AXIS + text)


REFUSED = {
    "two parents": (
        robot(*ARM, link("other"), joint("second", "other", "arm")),
        "link 'arm': child of both joint 'shoulder' and joint 'second'",
    ),
    "unknown parent": (
        robot(*ARM, link("hand"), joint("wrist", "forearm", "hand")),
        "joint 'wrist': unknown parent link 'forearm'",
    ),
    "unknown child": (robot(*ARM, joint("wrist", "arm", "hand")), "joint 'wrist': unknown child link 'hand'"),
    "no parent": (
        robot(*ARM, '<joint name="j" type="fixed"><child link="arm"/></joint>'),
        "joint 'j': no <parent>",
    ),
    "no link in child": (
        robot(*ARM, '<joint name="j" type="fixed"><parent link="arm"/><child/></joint>'),
        "joint 'j': <child> has no link",
    ),
    "no type": (robot(*ARM, '<joint name="j"/>'), "joint 'j': <joint> has no type"),
    "unsupported type": (arm_with(kind="universal"), "joint 'shoulder': unsupported type 'universal'"),
    "mimic of an unknown joint": (
        arm_with(rest=AXIS + LIMIT + mimic("other")),
        "joint 'shoulder': mimics unknown joint 'other'",
    ),
    "mimic of itself": (arm_with(rest=AXIS + LIMIT + mimic("shoulder")), "joint 'shoulder': mimics itself"),
    "mimic of nobody": (arm_with(rest=AXIS + LIMIT + "<mimic/>"), "joint 'shoulder': <mimic> has no joint"),
    "mimic of a mimic": (
        hand(first=mimic("second"), second=mimic("shoulder")),
        "joint 'first': mimics joint 'second', which mimics joint 'shoulder'",
    ),
    "mimic of a fixed joint": (
        robot(
            *(*ARM, link("hand"), link("tip")),
            joint("flange", "arm", "tip", "fixed", ""),
            joint("wrist", "arm", "hand", rest=AXIS + LIMIT + mimic("flange")),
        ),
        "joint 'wrist': mimics the fixed joint 'flange'",
    ),
    "mimic of several freedoms": (
        hand(kind="planar", second=mimic("shoulder")),
        "joint 'second': mimics the planar joint 'shoulder'",
    ),
    "mimic with several freedoms": (
        arm_with(kind="spherical", rest=mimic("other")),
        "joint 'shoulder': spherical, but with a <mimic>",
    ),
    "fixed mimic": (
        arm_with(kind="fixed", rest=mimic("other")),
        "joint 'shoulder': fixed, but with a <mimic>",
    ),
    "infinite multiplier": (
        arm_with(rest=AXIS + LIMIT + mimic("shoulder", 'multiplier="inf"')),
        "joint 'shoulder': <mimic> has multiplier=\"inf\"",
    ),
    "NaN offset": (
        arm_with(rest=AXIS + LIMIT + mimic("shoulder", 'offset="nan"')),
        "joint 'shoulder': <mimic> has offset=\"nan\"",
    ),
    "planar without an axis": (arm_with(kind="planar", rest=""), "joint 'shoulder': no <axis>"),
    "negative velocity of a spherical joint": (
        arm_with(kind="spherical", rest='<limit velocity="-1" effort="1"/>'),
        "joint 'shoulder': <limit> has velocity -1",
    ),
    "zero axis": (arm_with(rest='<axis xyz="0 0 0"/>' + LIMIT), "joint 'shoulder': <axis> is zero"),
    "no axis": (arm_with(rest=LIMIT), "joint 'shoulder': no <axis>"),
    "two axes": (arm_with(rest=AXIS + AXIS + LIMIT), "joint 'shoulder': 2 <axis> elements"),
    "NaN axis": (
        arm_with(rest='<axis xyz="0 nan 1"/>' + LIMIT),
        "joint 'shoulder': <axis> has xyz=\"0 nan 1\"",
    ),
    "infinite axis": (
        arm_with(rest='<axis xyz="0 0 1e999"/>' + LIMIT),
        "joint 'shoulder': <axis> has xyz=\"0 0 1e999\"",
    ),
    "short axis": (arm_with(rest='<axis xyz="0 1"/>' + LIMIT), "joint 'shoulder': <axis> has xyz=\"0 1\""),
    "bad origin": (
        arm_with(rest='<origin xyz="0 0 0" rpy="0 0 ${pi}"/>' + AXIS + LIMIT),
        "joint 'shoulder': <origin> has rpy=\"0 0 ${pi}\"",
    ),
    "no limit": (arm_with_limit(""), "joint 'shoulder': no <limit>"),
    "no limit of a continuous joint": (
        arm_with(kind="continuous", rest=AXIS),
        "joint 'shoulder': no <limit>",
    ),
    "no lower": (
        arm_with_limit('<limit upper="1" velocity="1" effort="1"/>'),
        "joint 'shoulder': <limit> has no lower",
    ),
    "no upper": (
        arm_with_limit('<limit lower="-1" velocity="1" effort="1"/>'),
        "joint 'shoulder': <limit> has no upper",
    ),
    "no lower and upper": (
        arm_with_limit('<limit velocity="1" effort="1"/>'),
        "joint 'shoulder': <limit> has no lower and no upper",
    ),
    "no velocity": (
        arm_with_limit('<limit lower="0" upper="1" effort="1"/>'),
        "joint 'shoulder': <limit> has no velocity",
    ),
    "no effort": (
        arm_with_limit('<limit lower="0" upper="1" velocity="1"/>'),
        "joint 'shoulder': <limit> has no effort",
    ),
    "reversed limits": (
        arm_with_limit('<limit lower="1" upper="-1" velocity="1" effort="1"/>'),
        "joint 'shoulder': <limit> has lower 1 above upper -1",
    ),
    "infinite limit": (
        arm_with_limit('<limit lower="-inf" upper="1" velocity="1" effort="1"/>'),
        "joint 'shoulder': <limit> has lower=\"-inf\"",
    ),
    "negative velocity": (
        arm_with_limit('<limit lower="0" upper="1" velocity="-1" effort="1"/>'),
        "joint 'shoulder': <limit> has velocity -1",
    ),
    "negative effort": (
        arm_with_limit('<limit lower="0" upper="1" velocity="1" effort="-1"/>'),
        "joint 'shoulder': <limit> has effort -1",
    ),
}


OWN = "as a joint of its own"


TAKEN = {
    "mimic of an unknown joint": OWN,
    "mimic of itself": OWN,
    "mimic of nobody": OWN,
    "mimic of a mimic": "as 1 times joint 'shoulder' plus 0",
    "mimic of a fixed joint": OWN,
    "mimic of several freedoms": OWN,
    "mimic with several freedoms": OWN,
    "fixed mimic": "as fixed",
    "planar without an axis": "as 0 0 1, as Pinocchio does",
    "no axis": "as 1 0 0, as URDF says",
    "two axes": "the first",
    "no lower": "as 0, as URDF says",
    "no upper": "as 0, as URDF says",
    "reversed limits": "the other way round",
    "negative velocity": "as no limit",
    "negative velocity of a spherical joint": "as no limit",
    "negative effort": "as no limit",
}
"""Problems that are tolerated with a remark, by case."""


SILENT = ("no limit", "no limit of a continuous joint", "no lower and upper", "no velocity", "no effort")
"""Problems that a tolerant reading treats as no limit, without a remark."""
