"""Programs of bundled robots, in formats that few samples chose."""

from rbdhw.explore.search import prepare_build
from rbdhw.frontend.read import load_mounted
from rbdhw.graph.twins import no_twins
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.quantize.formats import FormatChoice
from rbdhw.quantize.observation import Draws, observe
from rbdhw.robots import path


def chosen_program(name, functions, width):
    """Return the program of a bundled robot's functions."""
    options = BuildOptions(functions, width=width, samples=64)
    prepared = prepare_build(load_mounted(path(name), Mounting()), options)
    draws = Draws(ranging=256, held_out=64, probed=64)
    observed = observe(prepared.model, prepared.graph, prepared.domain, options, draws)
    choice = FormatChoice(observed, options, no_twins(prepared.graph), False, lambda _: None)
    return choice.search().program
