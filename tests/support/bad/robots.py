"""URDF files that are refused, each with a part of the error message."""

from rbdhw.robots import path

TOY = path("toy").read_text()


def replaced(old: str, new: str) -> str:
    """Return the toy's file with one text replaced."""
    assert old in TOY
    return TOY.replace(old, new, 1)


NO_NUMBERS = ("abc", "1e999", "nan", "-inf", "0x10", "1,5", "1_000", "١", "--1", "1 2", "1e", ".", "2kg")
"""Texts that are not finite numbers."""

AXIS = '<axis xyz="0 1 0"/>'
LIMIT = '<limit lower="-2.5" upper="2.5" velocity="8" effort="15"/>'
MASS = '<mass value="2"/>'
MOMENT = 'ixx="0.001"'
ORIGIN = '<origin xyz="0.4 0 0"/>'
A_VELOCITY = "expected 0, or a magnitude of 1e-09 to 1e+06 rad/s or m/s"
AN_EFFORT = "expected 0, or a magnitude of 1e-12 to 1e+12 N or Nm"


def mimic(rest: str) -> str:
    return replaced(LIMIT, f'{LIMIT}<mimic joint="shoulder" {rest}/>')


def chain(joints: int, kind: str = "fixed") -> str:
    """Return a robot of links in a row."""
    parts = "".join(
        f'<link name="l{i + 1}"/><joint name="j{i}" type="{kind}"><axis xyz="0 0 1"/>'
        f'<parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(joints)
    )
    return f'<robot name="chain"><link name="l0"/>{parts}</robot>'


def cycle(joints: int) -> str:
    return (
        chain(joints)
        .replace(f'<child link="l{joints}"/>', '<child link="l0"/>')
        .replace(f'<link name="l{joints}"/>', "")
    )


ROBOTS: dict[str, tuple[str | bytes, str]] = {
    **{
        f"mass {text}": (replaced(MASS, f'<mass value="{text}"/>'), f'<mass> has value="{text}"')
        for text in NO_NUMBERS
    },
    **{
        f"moment {text}": (replaced(MOMENT, f'ixx="{text}"'), f'<inertia> has ixx="{text}"')
        for text in NO_NUMBERS[:3]
    },
    **{
        f"{attribute} {text}": (
            replaced(ORIGIN, f'<origin {attribute}="0 {text} 0"/>'),
            f'<origin> has {attribute}="0 {text} 0"',
        )
        for attribute in ("xyz", "rpy")
        for text in NO_NUMBERS[:3]
    },
    **{
        f"axis {text}": (replaced(AXIS, f'<axis xyz="{text}"/>'), f'<axis> has xyz="{text}"')
        for text in ("1", "1 0", "1 0 0 0", "x y z", "1 0 nan", "1 0 1e999")
    },
    **{
        f"{attribute} of a limit {text}": (
            replaced(LIMIT, f'<limit {attribute}="{text}"/>'),
            f'<limit> has {attribute}="{text}"',
        )
        for attribute in ("lower", "velocity", "effort")
        for text in ("abc", "nan", "inf", "1e999")
    },
    **{
        f"{attribute} of a mimic {text}": (
            mimic(f'{attribute}="{text}"'),
            f'<mimic> has {attribute}="{text}"',
        )
        for attribute in ("multiplier", "offset")
        for text in ("abc", "nan", "inf", "1e999")
    },
    **{
        f"mass {text}": (replaced(MASS, f'<mass value="{text}"/>'), f'<mass> has value="{text}"')
        for text in ("1e300", "2e9", "-1e300", "1e-300", "1e-13")
    },
    "moment 1e300": (replaced(MOMENT, 'ixx="1e300"'), '<inertia> has ixx="1e300"'),
    **{
        f"xyz {text}": (
            replaced(ORIGIN, f'<origin xyz="{text} 0 0"/>'),
            f"joint 'tip_mount': <origin> has xyz=\"{text} 0 0\"",
        )
        for text in ("1e200", "1e308", "-2e6")
    },
    "rpy 1e300": (replaced(ORIGIN, '<origin rpy="0 0 1e300"/>'), '<origin> has rpy="0 0 1e300"'),
    **{
        f"multiplier {text}": (mimic(f'multiplier="{text}"'), f'<mimic> has multiplier="{text}"')
        for text in ("1.1e6", "1e12", "1e300", "1e-300", "-1000001")
    },
    "offset 1e300": (mimic('offset="1e300"'), '<mimic> has offset="1e300"'),
    "a joint type with a line end": (
        replaced('type="revolute"', 'type="a&#10;b"'),
        "unsupported type 'a\\nb'",
    ),
    "a parent with colours of a terminal": (
        replaced('<parent link="base"/>', '<parent link="\x9b31m"/>'),
        "unknown parent link '\\x9b31m'",
    ),
    "many roots": (
        replaced("</robot>", "".join(f'<link name="x{i}"/>' for i in range(9000)) + "</robot>"),
        "9001 root links: 'base', 'x0'",
    ),
    "a long cycle": (cycle(9000), "no root link, but a cycle of 'l1' -> 'l2'"),
    "nothing that moves": (chain(3), "robot 'chain' has no moving joint"),
    "too many joints": (chain(10_001, "continuous"), "<robot>: 10,001 moving joints"),
    # XML
    "bytes": (bytes(range(256)), "not well-formed XML"),
    "a zero byte": (replaced("elbow", "el\0bow"), "not well-formed XML (not well-formed (invalid token)"),
    "UTF-16": (TOY.encode("utf-16"), "not well-formed XML"),
    "a zip": (b"PK\x03\x04" + bytes(100), "not well-formed XML"),
    "an unclosed comment": (replaced("</robot>", "<!--</robot>"), "not well-formed XML (unclosed token"),
    "many unclosed comments": (replaced("</robot>", "<!--" * 500_000), "not well-formed XML"),
    "an unclosed attribute": (
        replaced('"elbow"', '"elbow'),
        "not well-formed XML (not well-formed (invalid token)",
    ),
    "an attribute twice": (
        replaced("<robot ", '<robot name="x" '),
        "not well-formed XML (duplicate attribute",
    ),
    "entities behind instructions": (
        "<?a?>" * 100_000 + '<!DOCTYPE r [<!ENTITY a "ha">]><robot name="&a;"/>',
        "a DOCTYPE declaration (r)",
    ),
    "instructions": ("<?a b?>" * 100_000, "not well-formed XML (no element found"),
    "a document type in the middle": (
        replaced("</robot>", "<!DOCTYPE r [<!ENTITY a 'b'>]></robot>"),
        "not well-formed",
    ),
    "a namespace": ('<a:robot name="r"/>', "<a:robot>: not a URDF"),
    "a name of a million characters": (
        replaced('name="toy"', f'name="{1_000_000 * "a"}"'),
        "<robot> has name of 1,000,000 characters",
    ),
    "a number of ten million digits": (
        replaced(MASS, f'<mass value="{10_000_000 * "1"}"/>'),
        "<mass> has value of 10,000,000 characters",
    ),
    "an attribute of a thousand digits": (replaced(MASS, f'<mass value="{999 * "1"}x"/>'), '1x"'),
    "a link's name of 1,001 characters": (
        replaced('<link name="base"/>', f'<link name="{1001 * "a"}"/>'),
        "<link>: <link> has name of 1,001 characters",
    ),
    "a file of more than 16 MB": (TOY + " " * (16 << 20), "is larger than 16,777,216 bytes"),
}

STRICT: dict[str, tuple[str, str]] = {
    **{
        f"{attribute} {text}": (
            replaced(LIMIT, LIMIT.replace(f'{attribute}="{old}"', f'{attribute}="{text}"')),
            f"<limit> has {attribute} {float(text):g}; {expected}; "
            "leave out --strict (then taken as no limit)",
        )
        for attribute, old, text, expected in (
            ("lower", "-2.5", "-1e308", "expected a magnitude of up to 1e+06 rad or m"),
            ("upper", "2.5", "1e308", "expected a magnitude of up to 1e+06 rad or m"),
            ("velocity", "8", "1e30", A_VELOCITY),
            ("velocity", "8", "1e-30", A_VELOCITY),
            ("velocity", "8", "-1", "expected zero or more"),
            ("effort", "15", "1e300", AN_EFFORT),
            ("effort", "15", "1e-300", AN_EFFORT),
        )
    }
}
