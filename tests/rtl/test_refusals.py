"""What components refuse to be built of, each in a line."""

import re
from dataclasses import replace

import pytest

from rbdhw.fixed.reciprocal import reciprocal_spec
from rbdhw.fixed.trigonometry import trigonometry_spec
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import CODES
from rbdhw.rtl.arbiter import Arbiter
from rbdhw.rtl.completion import Completion, Credits
from rbdhw.rtl.delay import BypassFifo
from rbdhw.rtl.lane import Lane
from rbdhw.rtl.merger import Merger
from rbdhw.rtl.multiplier import Multiplier
from rbdhw.rtl.reciprocal import ReciprocalUnit
from rbdhw.rtl.rollout import Rollout
from rbdhw.rtl.shell import Accelerator
from rbdhw.rtl.single_precision import FixedToSingle, SingleToFixed
from rbdhw.rtl.trigonometry import TrigonometryUnit
from rbdhw.rtl.turns import Turns
from tests.support.edge import FUNCTIONS, ID, LATENCIES, FakeCore, words
from tests.support.rollout_edge import STEP, rollouts
from tests.support.singles import word

ONE = Interface((ID,), 32)


def around(interface=None, copies=1, ii=1, **core):
    """Build an accelerator around a core with known results."""
    cores = [
        FakeCore(**{"ii": 1, "functions": FUNCTIONS, "latencies": LATENCIES} | core) for _ in range(copies)
    ]
    for each in cores:
        each.ii = ii
    return Accelerator(cores=cores, interface=interface or Interface(cores[0].order, 32))


REFUSED = {
    "latency: is -1; expected at least 0": lambda: Completion(
        interface=ONE, function=ID, latency=-1, depth=8
    ),
    "depth: is 12; expected a power of two": lambda: Completion(
        interface=ONE, function=ID, latency=3, depth=12
    ),
    "depth: is 0; expected at least 1": lambda: Credits(depth=0),
    "a bypass FIFO has at least 2 stages, not 1": lambda: BypassFifo(shape=3, stages=1),
    "places: is -1; expected at least 0": lambda: Lane(bits=3, functions=1, places=-1),
    "copies: is 1; expected at least 2": lambda: Turns(copies=1, bits=32),
    "edges: is 1; expected at least 2": lambda: Arbiter(edges=1, bits=8, functions=1),
    "quotas: none; expected one for each of one or more inputs": lambda: Merger(quotas=(), bits=32),
    "quotas: one is 0; expected at least 1": lambda: Merger(quotas=(2, 0), bits=32),
    "a multiplier has 1 to 3 registers, not 0": lambda: Multiplier((18, 18), 8, 0),
    "a multiplier has 1 to 3 registers, not 4": lambda: Multiplier((18, 18), 8, 4),
    "a reciprocal takes 1 to 5 cycles, not 0": lambda: ReciprocalUnit(reciprocal_spec(22, 18), 0, 0),
    "a reciprocal takes 1 to 5 cycles, not 6": lambda: ReciprocalUnit(reciprocal_spec(22, 18), 6, 0),
    "a reciprocal takes 3 to 7 cycles, not 2": lambda: ReciprocalUnit(reciprocal_spec(22, 18), 2, 2),
    "a sine takes 1 to 2 cycles, not 0": lambda: TrigonometryUnit(trigonometry_spec(18), 0, 0),
    "a sine takes 3 to 4 cycles, not 5": lambda: TrigonometryUnit(trigonometry_spec(18), 5, 2),
    "width: is 31; expected at least 32": lambda: FixedToSingle(width=31),
    "width: is 30; expected at least 32": lambda: SingleToFixed(formats=(), width=30, wraps=False),
    "data width: is 48; expected one of 32, 64, 128, 256, 512, 1024": lambda: Interface(FUNCTIONS, 48),
    "number: is 'float64'; expected one of fixed, float32": lambda: Interface(FUNCTIONS, 64, "float64"),
    "streams: is 9; expected 1 to 8": lambda: Interface(FUNCTIONS, 64, streams=9),
    "streams: is 0; expected 1 to 8": lambda: Interface(FUNCTIONS, 64, streams=0),
    "streams: is 2; expected 1 with rollouts": lambda: replace(rollouts(), streams=2),
    "parameter sets: is 2; expected 1 to 1": lambda: Interface(FUNCTIONS, 64, parameter_sets=2),
    "priority: function 'fd' is not built; expected some of id, dfd, difd": lambda: Interface(
        FUNCTIONS, 32, priority=("id", "fd")
    ),
    "priority: a function appears twice; expected each function once": lambda: Interface(
        FUNCTIONS, 32, priority=("id", "id")
    ),
    "functions: none given; expected at least one": lambda: Interface((), 32),
    "functions: a name appears twice; expected each function once": lambda: Interface((ID, ID), 32),
    f"function 'inverse': unknown; expected one of {', '.join(CODES)}": lambda: Interface(
        (FunctionWords("inverse", words(3), words(3)),), 32
    ),
    "function dfd: is in no core; expected it in at least one": lambda: around(
        Interface(FUNCTIONS, 32), functions=(ID,)
    ),
    "core: has function dfd; expected some of id": lambda: around(ONE),
    "core: has 3 slots; its functions need 5": lambda: around(Interface(FUNCTIONS, 32), layout=FUNCTIONS[:2]),
    "core: id of 30 bits; the function's outputs have 29": lambda: around(
        Interface((replace(ID, outputs=words(29)),), 32), functions=(ID,)
    ),
    "core: initiation interval is 0; expected at least 1": lambda: around(ii=0),
    "rollouts: step is in several cores; expected it in one": lambda: around(
        rollouts(), copies=2, functions=(STEP,), latencies={"step": 9}
    ),
    "interface: has no rollouts; expected their shape": lambda: Rollout(
        interface=ONE, slots=(9, 9, 7), latency=9, ii=1
    ),
    "latency: is 2; expected at least 3": lambda: Rollout(
        interface=rollouts(), slots=(9, 9, 7), latency=2, ii=1
    ),
    "numbers of 2**-130 to 2**-111: beyond a normal single; expected 2**-126 to 2**127": lambda: around(
        Interface((replace(ID, outputs=(word(0, 20, 130),)),), 32, "float32"),
        functions=(replace(ID, outputs=(word(0, 20, 130),)),),
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        REFUSED[text]()
