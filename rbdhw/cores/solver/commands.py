"""The commands of a solver: from tasks at the input of an accelerator to the solver and to answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.solver.component import SolverComponent
from rbdhw.fixed.program import Word
from rbdhw.model.interface import Interface
from rbdhw.protocol import GOAL, PLAN, SOLVE, SOLVER_COMMANDS
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.layouts import split_words, task_numbers
from rbdhw.rtl.rows import limited_word

CORE_PORTS = ("phase_zero", "starts", "payload", "result", "overflow")
"""The ports to the core of a function, followed by its name."""


class SolverCommands(wiring.Component):
    """A solver, to which tasks of :data:`rbdhw.protocol.SOLVER_COMMANDS` are given at the input of an edge.

    A row of a goal is taken in every cycle, and the other commands while no solution is in progress.
    """

    def __init__(self, *, interface: Interface, solver: SolverComponent) -> None:
        self.interface, self.solver = interface, solver
        bits = {name: interface.words(name).result_bits for name in SOLVER_COMMANDS}
        ports = solver.signature.members
        of_functions = (f"{port}_{name}" for port in CORE_PORTS for name in solver.cores)
        self._of_cores = (*of_functions, *solver.cores["step"].late_ports)
        super().__init__(
            {
                # The task at the input: its fields, and whether it is malformed or has a number that is not
                # finite.
                "words": In(interface.places[-1]),
                "malformed": In(1),
                "not_finite": In(1),
                "admit": In(len(SOLVER_COMMANDS)),  # one-hot: that task is this command, and is admitted
                "ready": Out(1),  # whether a solution may begin, and the last one may be read
                # Whether the task at the input, as each of the commands, is malformed by its numbers.
                "refuses": Out(len(SOLVER_COMMANDS)),
                # An answer to `solve`: its packed words. Those of `plan` come a cycle after its admission.
                "answers": Out(1),
                "answer": Out(bits[SOLVE]),
                "knot": Out(bits[PLAN]),
                **{name: ports[name] for name in self._of_cores},
            }
        )

    @property
    def cores(self) -> dict[str, CorePorts]:
        """The cores in which the solver takes steps and their derivatives, by function."""
        return self.solver.cores

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.solver = solver = self.solver
        for name in self._of_cores:
            inner, outer = getattr(solver, name), getattr(self, name)
            is_output = solver.signature.members[name].flow is Out
            m.d.comb += outer.eq(inner) if is_output else inner.eq(outer)
        self._owed = Signal(name="owed")  # whether a refused task waits for its answer
        m.d.comb += self.ready.eq(solver.ready & ~self._owed)
        usable = ~self.malformed & ~self.not_finite
        for k, command in enumerate((self._begin, self._load, self._read)):
            bad, taken = Signal(name=f"bad_{k}"), Signal(name=f"taken_{k}")
            m.d.comb += [
                taken.eq(self.admit[k] & usable & ~bad),
                self.refuses[k].eq(bad & ~self.not_finite),
                bad.eq(command(m, taken)),
            ]
        return m

    def _begin(self, m: Module, taken: Any) -> Any:
        """Begin a solution, and return whether the task is refused.

        It is if a number is out of range, if its problem is not the next one, or if no goal is loaded. A
        refused task begins the solutions of those that wait, and is answered behind them.
        """
        solver, shape, numbers = self.solver, self.solver.shape, self._numbers(SOLVE)
        counts = {name: numbers[name] for name in ("iterations", "warm", "shift", "more") if name in numbers}
        task = Cat(numbers[word.name][: word.format.width] for word in shape.step.inputs)
        m.d.comb += [solver.start.eq(taken), solver.task.eq(task)]
        m.d.comb += [getattr(solver, name).eq(number) for name, number in counts.items()]
        words = {word.name: word for word in self.interface.inputs(SOLVE)}
        beyond = (_beyond(number, words[name]) for name, number in counts.items())
        forces = sum(word.format.width for word in shape.taus)
        results = {
            "cost": solver.cost,
            "iterations": solver.taken,
            "regularisation": solver.regularisation,
            "solved": solver.status,
            "followed": solver.followed,
        }
        widths = {word.array: word.format.width for word in self.interface.outputs(SOLVE)}
        padded = [Cat(value, Const(0, widths[name] - len(value))) for name, value in results.items()]
        refused = self.admit[0] & ~taken
        m.d.comb += solver.begins.eq(refused)
        with m.If(refused & solver.waits):
            m.d.sync += self._owed.eq(1)
        with m.Elif(solver.ready):
            m.d.sync += self._owed.eq(0)
        at_once = refused & ~solver.waits | self._owed & solver.ready & ~solver.waits
        m.d.comb += [
            self.answers.eq(solver.ends | at_once),
            self.answer.eq(Cat(solver.trajectory[-forces:], *padded, solver.gains)),
        ]
        another = numbers["problem"] != solver.next if "problem" in numbers else 0
        return Cat(beyond).any() | another | ~solver.has_goal

    def _load(self, m: Module, taken: Any) -> Any:
        """Load a row of a goal, and return whether it is refused.

        It is if it leaves a gap or is out of range, or if the limits of a force cross.
        """
        solver, shape, numbers = self.solver, self.solver.shape, self._numbers(GOAL)
        words = {word.name: word for word in self.interface.inputs(GOAL)}

        def row(of_row: Sequence[Word]) -> Any:
            return Cat(limited_word(m, words[word.name], numbers[word.name]) for word in of_row)

        limits = row(shape.limits)
        bounds = split_words(shape.limits, limits)
        cross = (bounds[least.name] > bounds[most.name] for least, most in shape.limits_of_forces)
        number = numbers["row"]
        m.d.comb += [
            solver.goal_enable.eq(taken),
            solver.goal_problem.eq(numbers.get("problem", 0)),
            solver.goal_step.eq(number),
            solver.goal.eq(row(shape.goal)),
            solver.goal_curvatures.eq(row([each.word for each in shape.curvatures])),
            solver.goal_limits.eq(limits),
        ]
        beyond = Cat(_beyond(numbers[name], words[name]) for name in ("problem", "row") if name in words)
        return beyond.any() | (number > solver.loaded) | Cat(cross).any()

    def _read(self, m: Module, _taken: Any) -> Any:
        """Read a knot of a solution; return whether it is refused. The last knot has no forces."""
        solver, shape, numbers = self.solver, self.solver.shape, self._numbers(PLAN)
        number = numbers["row"]
        last, forces = Signal(name="last"), sum(word.format.width for word in shape.taus)
        state = sum(each.word.format.width for each in shape.state)
        m.d.sync += last.eq(number == shape.knots)
        m.d.comb += [
            solver.read_problem.eq(numbers.get("problem", 0)),
            solver.read_knot.eq(number),
            self.knot.eq(
                Cat(
                    solver.trajectory[:state],
                    Mux(last, Const(0, forces), solver.trajectory[-forces:]),
                    solver.gains,
                )
            ),
        ]
        beyond = Cat(_beyond(numbers[word.name], word) for word in self.interface.inputs(PLAN))
        return beyond.any() | ~solver.done | solver.waits

    def _numbers(self, command: str) -> dict[str, Any]:
        return task_numbers(self.interface, command, self.words)


def _beyond(number: Any, word: Word) -> Any:
    """Return whether a number is beyond the bounds of its word."""
    return (number < word.lowest) | (number > word.highest)
