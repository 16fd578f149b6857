"""The hardware and the C of a build beside its program, bit for bit."""

from rbdhw.explore.plan import Plan
from rbdhw.model.responses import respond
from rbdhw.software.exact_library import ExactLibrary
from tests.support import rtl_cores
from tests.support.bit_exact import assert_same_bits, draw_words, modes
from tests.support.builds import random_words


def assert_hardware_and_c_are_the_program(plan: Plan) -> None:
    """Compare random tasks of the first core, some with bubbles, and of all functions in C."""
    component = plan.cores[0].component(None)
    words = random_words(component.program, 6, seed=1)
    asked = rtl_cores.requests(component.program, 6, seed=2)
    responses = rtl_cores.responses(component, words, 2, asked)
    assert responses == rtl_cores.expected(component.program, words, asked)
    library = ExactLibrary(plan.accelerator, flags=["-O0"])
    for name, extended in modes(plan.accelerator):
        words = draw_words(plan.accelerator, name, extended, 50)
        outputs = respond(plan.accelerator, name, words, extended)
        assert_same_bits(library.respond(name, words, extended), outputs)
