"""Command lines that are refused, each with a part of the error message."""

from __future__ import annotations

import os

from rbdhw.robots import path

LARGE = 10**20
HELP = "expected what `rbdhw generate --help` describes"
A_CLOCK = "expected 0.001 to 10000 MHz"
A_BUDGET = "expected 1e-12 or more, and less than 1"
A_BANDWIDTH = "expected 1e-09 to 1e+06 GB/s"
A_GRAVITY = "expected of each 0, or a magnitude of 1e-09 to 1e+06 m/s^2"
OPTIONS: dict[tuple[object, ...], str] = {
    ("--ii", 0): "ii: 0 is not possible; expected 1 to 4096 cycles between tasks",
    ("--ii", -1): "ii: -1 is not possible; expected 1 to 4096 cycles between tasks",
    ("--ii", 4097): "ii: 4097 is not possible; expected 1 to 4096 cycles between tasks",
    ("--ii", LARGE): f"ii: {LARGE} is not possible; expected 1 to 4096 cycles between tasks",
    ("--ii", 5000 * "1"): "1' is not an interval; expected a number of cycles or auto",
    ("--ii", "1.5"): "ii: '1.5' is not an interval; expected a number of cycles or auto",
    ("--ii", "\n"): "ii: '\\n' is not an interval; expected a number of cycles or auto",
    ("--ii", ""): "ii: '' is not an interval; expected a number of cycles or auto",
    ("--seed", -1): "seed: -1 is not a seed; expected 0 to 9223372036854775807",
    ("--seed", LARGE): f"seed: {LARGE} is not a seed; expected 0 to 9223372036854775807",
    ("--seed", 5000 * "1"): f"exceeded maximum size; {HELP}",
    ("--seed", "x"): "invalid value for '--seed': Input should be a valid integer, unable to parse",
    ("--width", 7): "width: 7 is not supported; expected 8 to 32 bits",
    ("--width", 33): "width: 33 is not supported; expected 8 to 32 bits",
    ("--width", LARGE): f"width: {LARGE} is not supported; expected 8 to 32 bits",
    ("--tdata", 0): "tdata: 0 bits are not supported; expected one of 32, 64, 128, 256, 512, 1024",
    ("--tdata", LARGE): f"tdata: {LARGE} bits are not supported",
    ("--number", "float16"): "number: 'float16' is unknown; expected one of fixed, float32",
    ("--priority", "idd"): "priority: 'idd' is not built; expected some of the functions of the build",
    ("--clock", 0): f"clock: 0 MHz is not a clock; {A_CLOCK}",
    ("--clock", -1): f"clock: -1 MHz is not a clock; {A_CLOCK}",
    ("--clock", "nan"): f"clock: nan MHz is not a clock; {A_CLOCK}",
    ("--clock", "inf"): f"clock: inf MHz is not a clock; {A_CLOCK}",
    ("--clock", 1e300): f"clock: 1e+300 MHz is not a clock; {A_CLOCK}",
    ("--clock", 1e-300): f"clock: 1e-300 MHz is not a clock; {A_CLOCK}",
    ("--clock", "1e999"): f"clock: inf MHz is not a clock; {A_CLOCK}",
    ("--max-error", 0): f"max-error: 0 is not a budget; {A_BUDGET}",
    ("--max-error", 1): f"max-error: 1 is not a budget; {A_BUDGET}",
    ("--max-error", "nan"): f"max-error: nan is not a budget; {A_BUDGET}",
    ("--max-error", 1e-300): f"max-error: 1e-300 is not a budget; {A_BUDGET}",
    ("--fit", "0%"): "fit: '0%' is not a share of a device; expected a percentage such as 60%",
    ("--fit", "101%"): "fit: '101%' is not a share of a device; expected a percentage such as 60%",
    ("--fit", "nan"): "fit: 'nan' is not a share of a device; expected a percentage such as 60%",
    ("--fit", "%"): "fit: '%' is not a share of a device; expected a percentage such as 60%",
    ("--fit", "many"): "fit: 'many' is not a share of a device; expected a percentage such as 60%",
    ("--fit", "1e-9%"): "more than 1e-09% of 1,182,240",
    ("--bandwidth", 1): "bandwidth: 1 GB/s has no effect here; expected it together with --ii auto",
    ("--ii", "auto", "--bandwidth", 0): f"bandwidth: 0 GB/s is not a bandwidth; {A_BANDWIDTH}",
    ("--ii", "auto", "--bandwidth", "nan"): f"bandwidth: nan GB/s is not a bandwidth; {A_BANDWIDTH}",
    ("--ii", "auto", "--bandwidth", 1e300): f"bandwidth: 1e+300 GB/s is not a bandwidth; {A_BANDWIDTH}",
    ("--ii", "auto", "--bandwidth", 1e-300): f"bandwidth: 1e-300 GB/s is not a bandwidth; {A_BANDWIDTH}",
    ("--ii", "auto", "--bandwidth", 1e-9): (
        "bandwidth: a task of id takes 2,500,000,000 cycles of the link; expected at most 4,096; "
        "use --bandwidth 0.000616 or more"
    ),
    ("--gravity", "0,0"): "gravity: '0,0' is not a vector; expected x,y,z in m/s^2 or task",
    ("--gravity", "down"): "gravity: 'down' is not a vector; expected x,y,z in m/s^2 or task",
    ("--gravity", "0,0,nan"): "gravity: '0,0,nan' is not a vector; expected x,y,z in m/s^2 or task",
    ("--gravity", "0,0,inf"): "gravity: '0,0,inf' is not a vector; expected x,y,z in m/s^2 or task",
    ("--gravity", "1e300,0,0"): f"gravity: 1e+300,0,0; {A_GRAVITY}",
    ("--gravity", "0,0,-1e-300"): f"gravity: 0,0,-1e-300; {A_GRAVITY}",
    (
        "--functions",
        "",
    ): "functions: none given; expected one or more of id, fd, m, minv, did, dfd, difd, sid",
    (
        "--functions",
        ",",
    ): "functions: none given; expected one or more of id, fd, m, minv, did, dfd, difd, sid",
    ("--functions", "id,jacobian"): "functions: 'jacobian' is unknown; expected one or more of id, fd",
    ("--functions", "ID"): "functions: 'ID' is unknown; expected one or more of id, fd",
    ("--functions", "id\n,fd,\x1b[2J"): "functions: '\\x1b[2J' is unknown; expected one or more of id, fd",
    ("--target", "z80"): "target: 'z80' is unknown; expected one of ecp5-85, xc7a200t, xcvu9p",
    ("--target", ""): "target: '' is unknown; expected one of ecp5-85, xc7a200t, xcvu9p",
    ("--target", "a\nb"): "target: 'a\\nb' is unknown; expected one of ecp5-85, xc7a200t, xcvu9p",
    ("--functions", "kin"): "frames: none given for kin; expected names of links; use --frames LINK",
    ("--frames", "tip"): "frames: only kin has results of frames; expected none; use --functions kin",
    (
        "--functions",
        "kin",
        "--frames",
        "tip,tip",
    ): "frames: link 'tip' appears twice; expected each link once",
    ("--functions", "kin", "--frames", "hand"): "frames: link 'hand' is unknown; expected some of ",
    ("--functions", "kin", "--frames", "base"): "frames: link 'base' does not move; expected some of ",
    ("--frame-axes", "up"): "frame-axes: 'up' is unknown; expected one of local, world",
    ("--base", "mobile"): "base: 'mobile' is unknown; expected one of fixed, floating, given",
    ("--root", "tip"): "does not float; expected a robot that is free in space; use --base floating",
    ("--functions", "id", "--base", "floating", "--root", "knee"): "root: ",
    ("--joint-order", "random"): "joint-order: 'random' is unknown; expected one of pinocchio, file",
    ("--share-limbs", "some"): "share-limbs: 'some' is unknown; expected one of auto, on, off",
    ("--share-limbs", "on"): "share-limbs: ",
    ("--core", "gpu"): "core: 'gpu' is unknown; expected one of pipeline, array, auto",
    ("--core", "array"): "ii: 1 is too few for the array core; expected 8 or more",
    (
        "--core",
        "array",
        "--ii",
        8,
        "--width",
        27,
    ): "width: the array core supports up to 18 bits; expected 8 to 18",
    (
        "--core",
        "array",
        "--ii",
        8,
        "--share-limbs",
        "on",
    ): "share-limbs: the array core shares all hardware anyway",
    (
        "--algorithm",
        "x",
    ): "algorithm: step 'x' is unknown; expected one of derivatives, inverse, products, gradient",
    (
        "--algorithm",
        "=",
    ): "algorithm: step '' is unknown; expected one of derivatives, inverse, products, gradient",
    (
        "--algorithm",
        "inverse=magic",
    ): "algorithm: 'magic' is unknown for inverse; expected one of paired_pivots",
    ("--algorithm", "inverse=articulated", "--algorithm", "inverse=block_pivots"): (
        "algorithm: inverse is given twice; expected one algorithm for each step"
    ),
    ("--fext", ""): "fext: '' is not a link; expected none, all, or names of links",
    ("--fext", "forearm,"): "fext: '' is not a link; expected none, all, or names of links",
    ("--fext", "wrist"): "fext: link 'wrist' is unknown; expected none, all or some of upper_arm, forearm",
    (
        "--fext",
        r"forearm\,tip",
    ): "fext: link 'forearm,tip' is unknown; expected none, all or some of upper_arm",
    ("--fext", r"\all"): "fext: link 'all' is unknown; expected none, all or some of upper_arm, forearm",
    ("--fext", "tip"): "fext: link 'tip' is fixed to 'forearm'; expected a moving link of toy",
    (
        "--fext",
        "all",
        "--fext",
        "tip",
    ): "fext: 'all' beside other links; expected it alone, or '\\all' for a link",
    ("--fext", "forearm,none"): "fext: 'none' beside other links; expected it alone, or '\\none' for a link",
    ("--nonsense",): f"no such option: --nonsense (Possible options: --seed); {HELP}",
    ("--ii",): f"option '--ii' requires an argument; {HELP}",
    ("--strict=yes",): f"option '--strict' does not take a value; {HELP}",
    ("more",): f"got unexpected extra argument(s) (more); {HELP}",
}

COMMANDS: dict[tuple[object, ...], str] = {
    ("forge",): "no such command 'forge'; expected what `rbdhw --help` describes",
    ("--nonsense",): "no such option: --nonsense; expected what `rbdhw --help` describes",
    ("info",): "missing argument 'URDF'; expected what `rbdhw info --help` describes",
    ("info", path("toy"), "--ii", 4): "ii: has no effect on info without --explore; expected both or neither",
    (
        "info",
        path("toy"),
        "-o",
        "plots",
    ): "output: has no effect on info without --explore; expected both or neither",
    ("info", path("toy"), "--explore", "-o", os.devnull): "is not a folder; expected a folder to plot to",
    ("info", path("toy"), "--explore", "-o", 300 * "n"): "File name too long; expected a folder to plot to",
    ("info", path("toy"), "--explore", "--ii", LARGE): f"ii: {LARGE} is not possible",
    ("generate", path("toy")): "missing option '--output' / '-o'; expected what",
    ("generate", path("toy"), "-o", os.devnull): "is not a folder; expected a folder to write a design to",
    ("generate", path("toy"), "-o", 300 * "n"): "File name too long; expected a folder to write a design to",
    ("bench", "--only", "nothing"): "only: no table's title contains 'nothing'; expected part of",
    ("bench", "--output", "."): ".: cannot be written; expected a file in a folder that exists",
    ("bench", "--output", "no/where"): "no/where: cannot be written; expected a file in a folder that exists",
    ("bench", "--output", 300 * "n"): "cannot be written (File name too long); expected a writable file",
    ("bench", "--sweep", "nowhere"): "nowhere: no URDF file; expected a folder with *.urdf files in or below",
    ("bench", "--sweep", 300 * "n"): "File name too long; expected a place that can be read and written",
    ("bench", "--sweep", ".", "--jobs", LARGE): (
        "invalid value for '--jobs': Input should be less than or equal to 1024"
    ),
    (
        "bench",
        "--sweep",
        ".",
        "--jobs",
        0,
    ): "invalid value for '--jobs': Input should be greater than or equal to 1",
}


SIMULATIONS: dict[tuple[object, ...], str] = {
    ("--tasks", 0): "invalid value for '--tasks': Input should be greater than or equal to 1",
    ("--tasks", 10**30): f"tasks: {10**30} is out of range; expected 1 to 1000000000",
    ("--tasks", 5000 * "1"): "exceeded maximum size; expected what `rbdhw simulate --help` describes",
    ("--seed", -1): "seed: -1 is not a seed; expected 0 to 9223372036854775807",
    ("--seed", 10**30): f"seed: {10**30} is not a seed; expected 0 to 9223372036854775807",
}
