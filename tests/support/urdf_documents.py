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


def light_arm(joints=6, lighter=0.45, length=0.12):
    """Return an arm whose links become lighter by a factor, of which three in a row bend in one plane."""
    axes = ("0 0 1", "1 0 0", "1 0 0", "1 0 0", "0 1 0", "0 0 1")
    parts = [link("base")]
    for k in range(joints):
        mass = 0.2 * lighter**k
        ixx, iyy, izz = (mass * share * length**2 / 4.0 for share in (0.5, 0.4, 0.15))
        inertial = (
            f'<inertial><origin xyz="0.003 -0.002 {length / 4.0}"/><mass value="{mass}"/>'
            f'<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>'
        )
        origin = f'<origin xyz="0 0.01 {length if k else 0.0}" rpy="{-0.9 if k else 0.3} 0 0"/>'
        limit = '<limit lower="-2" upper="2" velocity="1" effort="30"/>'
        parent = f"link{k - 1}" if k else "base"
        rest = f'{origin}<axis xyz="{axes[k % len(axes)]}"/>{limit}'
        parts += [link(f"link{k}", inertial), joint(f"joint{k}", parent, f"link{k}", rest=rest)]
    return robot(*parts)
