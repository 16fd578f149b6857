"""Minimal URDF texts for tests: links, joints and robots."""

INERTIAL = (
    '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
UNRANGED = '<limit velocity="3" effort="4"/>'
AXIS = '<axis xyz="0 0 1"/>'


def link(name, inertial=INERTIAL):
    return f'<link name="{name}">{inertial}</link>'


def joint(name, parent, child, kind="revolute", rest=AXIS + LIMIT):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{rest}</joint>'
    )


def mimic(joint, rest=""):
    return f'<mimic joint="{joint}" {rest}/>'


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


ARM = (link("base"), link("arm"), joint("shoulder", "base", "arm"))


def arm_with(inertial=INERTIAL, kind="revolute", rest=AXIS + LIMIT):
    return robot(link("base"), link("arm", inertial), joint("shoulder", "base", "arm", kind, rest))


def hand(first="", second="", kind="revolute"):
    """Return a palm with two fingers that may mimic."""
    return robot(
        *(link(name) for name in ("base", "palm", "finger", "thumb")),
        joint("first", "palm", "finger", rest=AXIS + LIMIT + first),
        joint("shoulder", "base", "palm", kind, AXIS + (LIMIT if kind == "revolute" else UNRANGED)),
        joint("second", "palm", "thumb", rest=AXIS + LIMIT + second),
    )
