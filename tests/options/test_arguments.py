"""Options by name in Python: the same build as on the command line, and the same refusals."""

import pytest

from rbdhw.board import BOARDS
from rbdhw.errors import InputError
from rbdhw.options.arguments import asked_build
from rbdhw.options.build import BuildOptions, CoreRequest, Mounting
from rbdhw.options.table import OPTIONS
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.target import target


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ({"functions": ("id", "fd")}, {"functions": "id,fd"}),
        ({"functions": ["id"], "ii": 4}, {"functions": "id", "ii": "4"}),
        ({"gravity": (0.0, 0.0, -1.6)}, {"gravity": "0,0,-1.6"}),
        ({"fext": "hand"}, {"fext": ["hand"]}),
        ({"functions": "kin", "frames": ("a", "b")}, {"functions": "kin", "frames": ["a,b"]}),
        ({"algorithm": {"products": "dense"}}, {"algorithm": ["products=dense"]}),
        ({"damping": {"elbow": 0.5, "ball": (1, 2, 3)}}, {"damping": ["elbow=0.5", "ball=1:2:3"]}),
        ({"functions": "id,dfd", "mix": {"id": 10, "dfd": 1}}, {"functions": "id,dfd", "mix": "id=10,dfd=1"}),
        ({"max-error": 1e-4}, {"max_error": "0.0001"}),
        ({"max-error": {"id": 0.1, "fd": 1e-4}}, {"max_error": "id=0.1,fd=0.0001"}),
        ({"fit": 0.5}, {"fit": "50%"}),
        ({"width": None, "strict": True}, {"strict": True}),
    ],
)
def test_objects_of_python_say_the_same_as_texts(asked, same):
    assert asked_build(**asked) == asked_build(**same)


def test_the_build_that_is_asked_for():
    options, _ = asked_build(cores="id:1 fd:9:array*2", width=18, base="floating")
    cores = (CoreRequest(("id",), 1), CoreRequest(("fd",), 9, "array", 2))
    expected = BuildOptions(("id", "fd"), cores=cores, width=18, mounting=Mounting("floating"))
    assert options == expected
    assert asked_build()[0] == BuildOptions(DEFAULT_FUNCTIONS)


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_sets_what_is_not_given(name):
    board, explicit = BOARDS[name], {"target": "xczu7ev", "clock": 77.0, "tdata": 64}
    options, _ = asked_build(board=name)
    clock = board.clock_mhz
    assert (options.target, options.clock_mhz, options.data_width) == (board.target, clock, board.data_width)
    assert target(board.target).dsp_blocks > 0
    options, _ = asked_build(board=name, **explicit)
    assert [options.target, options.clock_mhz, options.data_width] == list(explicit.values())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"board": "arty"}, f"board: 'arty' is unknown; expected one of {', '.join(sorted(BOARDS))}"),
        ({"board": "ulx3s-85f", "target": "cuda"}, "board: has no effect with --target cuda"),
        ({"function": "id"}, "option 'function': is unknown; expected one of functions"),
        ({"widht": 18}, "option 'widht': is unknown; expected one of width"),
        ({"width": "wide"}, "width: 'wide': input should be a valid integer"),
        ({"width": 40}, "width: 40 is not supported; expected 8 to 32 bits"),
        ({"ii": 2.5}, "ii: '2.5' is not an interval"),
        ({"base": "moon"}, "base: 'moon' is unknown; expected one of fixed"),
        ({"target": "c", "width": 18}, "width: has no effect with --target c"),
        ({"functions": "mppi", "knots": 5}, "knots: the build has no solver; use --horizon"),
        (
            {"functions": "rollout", "target": "c", "knots": 5},
            "knots: the build has no solver; use --horizon",
        ),
        ({"functions": "fd", "knots": 5}, "knots: the build has no solver; use --functions solve"),
        (
            {"functions": "solve", "target": "c", "horizon": 5},
            "horizon: the build has no rollouts; use --knots",
        ),
        ({"functions": "fd", "horizon": 5}, "horizon: the build has no rollouts; use --functions rollout"),
        ({"domain": "no/such/file"}, "no/such/file: "),
    ],
)
def test_what_cannot_be_is_refused(asked, message):
    with pytest.raises(InputError) as refusal:
        asked_build(**asked)
    assert str(refusal.value).startswith(message)


def test_every_option_is_described_once():
    assert len({option.name for option in OPTIONS}) == len(OPTIONS)
    for option in OPTIONS:
        assert option.help.endswith((".", ")")), option.name
        if option.attribute:
            option.value(BuildOptions())
