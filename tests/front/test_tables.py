"""The tables of the command line: their contents, and lines of at most 80 columns."""

from pathlib import Path
from typing import Any

import pytest

from rbdhw.design.entries import SharingEntry
from rbdhw.design.manifest import Manifest
from rbdhw.domain.strata import STRATA
from rbdhw.front.description_tables import print_algorithms, print_description
from rbdhw.front.printing import LINE_WIDTH, print_table, print_text
from rbdhw.front.robot_description import describe
from rbdhw.front.tables import print_accuracy, print_manifest, print_report, print_sharing
from rbdhw.options.build import BuildOptions
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.manifests import ERROR, FIGURES, FUNCTION, MANIFEST, RESULT
from tests.support.marks import long

PART: dict[str, Any] = {
    **MANIFEST["parts"][0],
    "formats": {"why": "--width 18: the least errors that it allows, whatever they are", "tries": []},
    "cores": {
        "asked": "auto",
        "why": "the pipeline takes 30.6% of the DSP blocks, the array 41.2% of the LUTs",
        "estimates": {},
    },
}
DATA: dict[str, Any] = {
    **MANIFEST,
    "parts": [PART],
    "target": "xcvu9p",
    "clock_mhz": 125.0,
    "width": [27, 18],
    "ii": 4,
    "multipliers": 2080,
    "functions": {
        "id": FUNCTION,
        "dfd": {
            **FUNCTION,
            "built": {
                "multiplications": {"variable": 47000, "constant": 637},
                "additions": 40123,
                "reciprocals": 7,
            },
            "latency_cycles": 453,
            "core_latency_cycles": 420,
            "tasks_per_second": 2232143,
        },
    },
    "error": {
        "id": {
            **ERROR,
            "results": {
                "tau": {
                    **RESULT,
                    "units": ["Nm", "N"],
                    "strata": {
                        "box": {**FIGURES, "median": 2e-5, "max": 5e-4},
                        "rest": {**FIGURES, "median": 1e-6, "max": 1e-5},
                    },
                }
            },
        },
        "dfd": {
            **ERROR,
            "median": 5.1e-4,
            "max": 5.8e-2,
            "results": {
                "da_dq": {
                    **RESULT,
                    "floor": 14.2,
                    "step": 2.0**-10,
                    "units": ["1/s^2"],
                    "strata": {"box": {**FIGURES, "median": 5.1e-4, "max": 5.8e-2}},
                },
                "da_dv": {**RESULT, "units": ["1/s"]},
            },
        },
    },
    "interval": {
        **MANIFEST["interval"],
        "ii": 4,
        "why": "the streams: a task of dfd takes 4 beats in and 56 out",
    },
    "estimate": {
        "luts": 102046,
        "flip_flops": 69447,
        "dsp_blocks": 2095,
        "block_rams": 8,
        "shares": {"luts": 0.086, "flip_flops": 0.029, "dsp_blocks": 0.306, "block_rams": 0.004},
        "error": None,
    },
    "core": "pipeline",
}
DESIGN = Manifest.model_validate(DATA)

REPORT = {
    "tasks": 20000,
    "mismatches": 5,
    "stray": 2,
    "flagged": 7,
    "cycles": 70506,
    "traffic": {"bubbles": 0.25, "back_pressure": 0.1, "seed": 3, "mixed_functions": True},
    "functions": {
        "id": {
            "tasks": 9999,
            "mismatches": 0,
            "flagged": 7,
            "error_median": 2.4e-5,
            "error_max": 7.4e-4,
            "limit": 1e-3,
            "latency_cycles": 22,
            "results": {"tau": {"strata": {"motion": {"error_median": 2.4e-5, "error_max": 7.4e-4}}}},
            "confidence": {"level": 0.999, "strata": {"motion": {"largest": 0.74, "share": 6.905e-4}}},
        },
        "dfd": {
            "tasks": 10001,
            "mismatches": 3,
            "flagged": 0,
            "error_median": None,
            "error_max": None,
            "limit": 1e-3,
            "latency_cycles": None,
            "results": {"da_dq": {"strata": {"motion": {"error_median": None, "error_max": None}}}},
            "confidence": {"level": 0.999, "strata": {"motion": {"largest": None, "share": 1.0}}},
        },
    },
}


@pytest.fixture
def lines(capsys):
    """Return the printed lines without trailing spaces; each is within the width."""

    def lines(action, *arguments):
        action(*arguments)
        printed = capsys.readouterr().out.splitlines()
        assert max(map(len, printed)) <= LINE_WIDTH == 80
        return [line.rstrip() for line in printed]

    return lines


def cells(lines):
    """Return the cells of printed rows."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]


@pytest.mark.parametrize(
    ("name", "text"), [("problems", "solve: 3 problems together"), ("blocks", "solve: 3 blocks of knots")]
)
def test_problems_together_and_blocks_of_knots(lines, name, text):
    """Builds of one problem, or one block, say nothing."""
    solver = {"knots": 4, "alphas": 2, "iterations": 8}
    for count, said in ((1, False), (3, True)):
        stream = DATA["stream"] | {"solver": solver | {name: count}}
        design = Manifest.model_validate(DATA | {"stream": stream})
        assert (text in lines(print_manifest, design, Path("arm"))) == said


def test_a_design(lines):
    printed = lines(print_manifest, DESIGN, Path("out/arm"))
    assert printed[:2] == [
        "arm (2 joints) for xcvu9p -> out/arm",
        "125 MHz, II 4, 2,080 multipliers, width 27 x 18 bits",
    ]
    rows = {tuple(row) for row in cells(printed)}
    assert rows >= {
        ("dfd", "47637 / 40123", "453 / 3.624", "420", "2.232 M", "5.1e-04 / 5.8e-02"),
        ("dfd.da_dq", "5e-4/6e-2", "-"),
        ("id.tau", "2e-5/5e-4", "1e-6/1e-5"),
        ("id.tau", "Nm, N", "3.1e-05", "4.6"),
    }
    assert printed[-6:] == [
        "widths: --width 18: the least errors that it allows, whatever they are",
        "II 4: the streams: a task of dfd takes 4 beats in and 56 out",
        "by estimate 102,046 LUTs (8.6%), 69,447 flip-flops (2.9%), 2,095 DSP blocks",
        "  (30.6%), 8 block RAMs (0.4%) of xcvu9p",
        "core pipeline: the pipeline takes 30.6% of the DSP blocks, the array 41.2% of",
        "  the LUTs",
    ]


def test_long_names_of_results_leave_room_for_all_strata(lines):
    strata = dict.fromkeys(STRATA, FIGURES) | {"rest": {**FIGURES, "median": 0.0, "max": 0.0}}
    kin = {"results": {"placement.rotation": {**RESULT, "strata": strata}}}
    data = DATA | {"error": {"kin": ERROR | kin}}
    printed = lines(print_accuracy, Manifest.model_validate(data).error)
    assert printed[2].split() == ["|", "|", *" | ".join(STRATA).split(), "|"]
    assert printed[4].startswith("| kin.placement | 2e-5/5e-4 | 2e-5/5e-4 |  0/0 |")
    assert printed[5].startswith("| .rotation     |")


def test_a_simulation_counts_for_each_function(lines):
    printed = lines(print_report, DESIGN, REPORT)
    assert printed[2:5] == [
        "20,000 tasks in 70,506 cycles: 5 mismatches, 7 flagged",
        "latency: least measured under 25% bubbles and 10% back-pressure, functions mixed",
        "2 of no function: unknown answers, or breaches of the stream's protocol",
    ]
    rows = [row for row in cells(printed) if row[0]]
    assert rows == [
        ["id", "9999", "22 / 0.176", "31.25 M", "0 / 7", "2.4e-05 / 7.4e-04"],
        ["dfd", "10001", "-", "2.232 M", "3 / 0", "-"],
        ["id.tau", "2e-5/7e-4"],
        ["dfd.da_dq", "-"],
        ["id", "6.9 (74%)"],
        ["dfd", "-"],
    ]
    assert "with 99.9 % confidence at most so many tasks in 10,000 err more than the limit" in printed


def test_algorithms(lines):
    cost = {"multiplications": 47000, "additions": 45000, "nanoseconds": 1067.2, "total": 63309.5}
    costs = {"block_pivots": cost, "articulated": cost}
    printed = lines(print_algorithms, {"inverse": {"chosen": "block_pivots", "costs": costs}})
    assert cells(printed)[-2:] == [
        ["inverse=block_pivots", "taken", "47000 / 45000", "1067 ns", "63310"],
        ["inverse=articulated", "", "47000 / 45000", "1067 ns", "63310"],
    ]


def test_limbs_that_share(lines):
    counts = {"multipliers": 289, "adders": 1128, "multiplexed_bits": 1083}
    alone = {"multipliers": 417, "adders": 1558, "multiplexed_bits": 32914}
    limbs = SharingEntry(
        groups=[["lf", "rf"]],
        shared=True,
        operations={},
        multiplications={},
        costs={"on": counts, "off": alone},
    )
    printed = lines(print_sharing, limbs)
    assert printed[0] == "limbs alike: lf, rf"
    assert cells(printed)[1:] == [
        ["", "taken", "share-limbs=off"],
        ["multipliers", "289", "417"],
        ["adders", "1,128", "1,558"],
        ["multiplexed bits", "1,083", "32,914"],
    ]
    assert cells(lines(print_sharing, limbs.model_copy(update={"shared": False})))[1][2] == "taken"


def test_names_that_do_not_fit_are_folded(lines):
    name = "left_gripper_finger_outer_knuckle"
    printed = lines(print_table, "joints", ["joint", "kind", "link"], [[name] * 3])
    assert printed[4] == "| left_gripper_finger_out | left_gripper_finger_out | left_gripper_finger_oute |"
    assert len(printed) == 7


def test_names_are_printed_as_they_are_but_for_what_does_not_print(lines):
    odd = "a\u202eb [bold]c[/d] :smile: \x1b[1m"
    shown = "a\\u202eb [bold]c[/d] :smile: \\x1b[1m"
    printed = lines(print_table, odd, ["", "x"], [[odd, "1"]])
    assert printed[0] == shown
    assert printed[4] == f"| {shown} | 1 |"


@pytest.mark.parametrize("name", ["a\u202eb", "[bold]", "two\nlines", "[/x]", "\x1b[1m"])
def test_a_description_escapes_names(lines, tmp_path, name):
    text = "".join(f"&#{ord(c)};" if c == "\n" else c for c in name).replace("\x1b", "esc")
    file = tmp_path / "odd.urdf"
    file.write_text(path("toy").read_text().replace("shoulder", text).replace('"upper_arm"', f'"{text}"'))
    printed = "\n".join(lines(print_description, describe(file, BuildOptions(("id",)))))
    shown = name.replace("\x1b", "esc").encode("unicode_escape").decode()
    assert f"q[0] | {shown} " in " ".join(printed.split()).replace("| q", "| q")


@pytest.mark.parametrize("robot", ["hyq", long("tiago"), long("hand22")])
def test_descriptions_of_robots(lines, robot):
    description = describe(path(robot), BuildOptions(("id",)))
    printed = "\n".join(lines(print_description, description))
    assert all(joint in printed for joint in load_urdf(path(robot)).joints)


def test_long_lines_are_wrapped_at_words(lines):
    assert lines(print_text, f"{'word ' * 20}\nshort", "  ") == [
        " ".join(["word"] * 16),
        "  word word word word",
        "short",
    ]
