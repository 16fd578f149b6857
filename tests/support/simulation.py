"""Amaranth's simulator for one case after another: compiled once, and reset to power-up before each."""

from collections.abc import Awaitable, Callable
from typing import Any

from amaranth.sim import Simulator, SimulatorContext

from tests.support.ordered_engine import OrderedEngine

Testbench = Callable[[SimulatorContext], Awaitable[None]]


class Simulation:
    """A component with its clock.

    Compiling a component for the simulator takes longer than most cases run. A testbench that fails takes
    the simulator with it: the next one has a new one.
    """

    def __init__(self, component: Any) -> None:
        self.component = component
        self._simulator: Simulator | None = None
        self._testbench: Testbench

    def run(self, testbench: Testbench) -> None:
        """Run ``testbench`` to its end, from the state after power-up."""
        self._testbench = testbench
        simulator, self._simulator = self._simulator, None
        if simulator is None:
            simulator = Simulator(self.component, engine=OrderedEngine)
            simulator.add_clock(1e-6)
            simulator.add_testbench(self._run_testbench)
        else:
            simulator.reset()
        simulator.run()
        self._simulator = simulator

    async def _run_testbench(self, ctx: SimulatorContext) -> None:
        await self._testbench(ctx)
