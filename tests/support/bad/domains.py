"""Domain files of the toy that are refused, each with a part of the error message."""

JOINT_ENTRIES = "unknown"
DOMAINS: dict[str, tuple[str | bytes, str]] = {
    **{
        f"a bound of {text}": (f"[default]\nvelocity = {text}", "")
        for text in (
            *("0", "-1", "nan", "inf", "true", '"1"', "[]", "[1]", "[1, 1]", "[2, 1]", "[1, 2, 3]"),
            *("[nan, 1]", "[-inf, inf]", "[[1], 2]", "2020-01-01", "1" + 400 * "0"),
        )
    },
    **{
        f"{entry} {text}": (f"[default]\n{entry} = {text}", "")
        for entry, text, expected in (
            ("position", "1e308", "a magnitude of up to 1e+06 rad or m"),
            ("position", "[-1e308, 1e308]", "a magnitude of up to 1e+06 rad or m"),
            ("velocity", "1e30", "0, or a magnitude of 1e-09 to 1e+06 rad/s or m/s"),
            ("velocity", "1e-30", "0, or a magnitude of 1e-09 to 1e+06 rad/s or m/s"),
            ("acceleration", "1e300", "0, or a magnitude of 1e-09 to 1e+09 rad/s^2 or m/s^2"),
            ("effort", "1e300", "0, or a magnitude of 1e-12 to 1e+12 N or Nm"),
            ("effort", "5e-324", "0, or a magnitude of 1e-12 to 1e+12 N or Nm"),
        )
    },
    "a force of 1e300": ("[fext]\nforce = 1e300", "fext.force: is 1e+300"),
    "a base that is fixed": ("[base]\nforce = 1", "domain, base: the base of toy is fixed"),
    "an unknown table": ("[joint]\n", "joint: unknown"),
    "an unknown entry": ("[default]\nspeed = 1", f"default.speed: {JOINT_ENTRIES}"),
    "an unknown entry of a joint": ("[joints.elbow]\nspeed = 1", f"joints.elbow.speed: {JOINT_ENTRIES}"),
    "an unknown joint": ("[joints.knee]\n", "domain, joint 'knee': not a joint of toy"),
    "an unknown joint with a line end": ('[joints."a\\nb"]\n', "domain, joint 'a\\nb': not a joint of toy"),
    "no table": ("default = 3", "default: is 3"),
    "a list of tables": ("[[joints]]\n", "joints: is [{}]"),
    "joints without tables": ("[joints]\nelbow = 1", "joints.elbow: is 1"),
    "no TOML": ("[default", "not a readable TOML file (Expected ']'"),
    "a table twice": (
        "[default]\n[default]\n",
        "not a readable TOML file (Cannot declare ('default',) twice",
    ),
    "JSON": ('{"default": {}}', "not a readable TOML file (Invalid statement"),
    "a zero byte": ("\0", "not a readable TOML file (Invalid statement"),
    "a byte order mark": ("\ufeff[default]", "not a readable TOML file (Invalid statement"),
    "bytes": (b"\xff\xfe", "not a readable TOML file ('utf-8' codec"),
    "a deep list": ("x = " + 1900 * "[", "not a readable TOML file (nested too deep)"),
    "a deep list over many lines": ("x = " + 20_000 * "[\n", "not a readable TOML file (nested too deep)"),
    "a deep table": ("x = " + 400 * "{a=" + "1" + 400 * "}", "nested too deep"),
    "a key of many parts": (20_000 * "a." + "a = 1", "a line of 40,005 characters"),
    "a long line": (f'x = "{3000 * "a"}"', "a line of 3,006 characters"),
    "a large file": (b"#\n" * (1 << 18), "is larger than 262,144 bytes"),
}
