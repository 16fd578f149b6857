"""The accelerator: one or more cores between pairs of AXI4-Streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.header import EXTENDED
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import GOAL, MEAN, MEAN_COMMANDS, MPPI, PLAN, ROLLOUT, SOLVE, SOLVER_COMMANDS
from rbdhw.rtl.admission import ADMITTED
from rbdhw.rtl.arbiter import Arbiter
from rbdhw.rtl.completion import Completion, first_beat, places
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.domain_check import CHECKED
from rbdhw.rtl.edge import Edge
from rbdhw.rtl.lane import Lane, queue_latency, waiting_places
from rbdhw.rtl.merger import Merger
from rbdhw.rtl.ports import conversion_latency
from rbdhw.rtl.rollout import Rollout
from rbdhw.rtl.rollout_means import RolloutWithMeans
from rbdhw.rtl.serial_core import SerialCore, serial
from rbdhw.rtl.serial_edge import SerialEdge, share_core
from rbdhw.rtl.stream import Assembler


def packet_latency(interface: Interface, function: FunctionWords, latency: int, waiting: int = 0) -> int:
    """Return the cycles from a request's first beat to its response's last beat, for a task alone.

    This is the least latency. Neither stream pauses, and the task has no optional arrays. It starts at the
    most favourable phase of the core's initiation interval; waiting for the next ``phase_zero`` adds up to
    II - 1 cycles. The previous response was of the same function; otherwise the merger needs one more cycle
    to change its turn. ``latency`` is that of the function in the core, and ``waiting`` the places of the
    queue before the core (:func:`rbdhw.rtl.lane.waiting_places`).
    """
    further_beats = (
        interface.request_beats(function, False) - 1 + interface.response_beats(function, False) - 1
    )
    core = first_beat(latency + queue_latency(waiting))
    return further_beats + conversion_latency(interface) + Assembler.latency + core + Merger.latency


class Accelerator(wiring.Component):
    """Cores between AXI4-Streams. Responses of each function keep the order of its requests.

    A function may be in several cores; their tasks take turns. With several cores, tasks that wait for one of
    them wait in its queue and hold no other task up, until the queue is full.

    With several pairs of streams, each has an edge of its own, and responses return where their requests
    came in. The edges take turns at each core. A pair of streams that stands still holds no other up.

    No task is lost: a task is admitted only if there is room for its result, and back-pressure stops the
    input. :func:`packet_latency` is the latency of a task alone. Reset discards all tasks and any partial
    packet.

    Parameters
    ----------
    cores : list of CorePorts, or of SerialCore
        The cores, which become the submodules ``core``, or ``core_0``, ``core_1``, ... if there are several.
    interface : Interface
        The layout of packets; its functions are those of all cores.
    solver : SolverCommands
        The solver, around one of these cores, of an accelerator that has one.

    Members
    -------
    s_axis_tdata, s_axis_tvalid, s_axis_tready, s_axis_tlast
        Requests. Of several pairs of streams, pair k has ``s_axis_k_tdata`` and so on
        (:attr:`~rbdhw.model.interface.Interface.ports`).
    m_axis_tdata, m_axis_tvalid, m_axis_tready, m_axis_tlast
        Responses, from registers.

    Raises
    ------
    ValueError
        If a core has a function that the interface does not have, or one of the interface's functions is in
        no core; if a core's slots or results differ from a function's words, or its initiation interval is
        below 1; if rollouts have several cores or several pairs of streams; if a solver is missing, or its
        core is another one.
    """

    def __init__(
        self, *, cores: Sequence[CorePorts | SerialCore], interface: Interface, solver: Any = None
    ) -> None:
        _check_functions(cores, interface)
        for core in cores:
            _check_core(core, interface)
        if interface.rollout is not None and sum(interface.step.name in core.names for core in cores) != 1:
            raise ValueError(f"rollouts: {interface.step.name} is in several cores; expected it in one")
        if (interface.solver is None) != (solver is None):
            raise ValueError(f"solver: is {solver}; expected one if the interface has its commands")
        for taken in () if solver is None else solver.cores.values():
            if not any(taken is core for core in cores):
                raise ValueError("solver: is around another core; expected one of the accelerator's")
        self.cores, self.solver = tuple(cores), solver
        self.interface = interface
        members: dict[str, Any] = {}
        for pair in interface.ports:
            for prefix, forward, backward in zip(pair, (In, Out), (Out, In), strict=True):
                members |= {
                    f"{prefix}_tdata": forward(interface.data_width),
                    f"{prefix}_tvalid": forward(1),
                    f"{prefix}_tready": backward(1),
                    f"{prefix}_tlast": forward(1),
                }
        super().__init__(members)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        if cores := serial(self.cores):
            self._add_serial_edges(m, cores)
        else:
            self._add_edges(m)
        return m

    def _add_serial_edges(self, m: Module, cores: Sequence[SerialCore]) -> None:
        """Add cores that take the numbers of their tasks one after the other, and their edges."""
        edges = [SerialEdge(module, self.interface, cores) for module in self._edge_modules(m)]
        for k, core in enumerate(cores):
            m.submodules[self._name("core", k)] = core
            share_core(m, core, k, edges)
        for edge, ports in zip(edges, self.interface.ports, strict=True):
            edge.connect_ports(self, *ports)

    def _add_edges(self, m: Module) -> None:
        """Add cores that take all words of a task in one cycle, and their edges."""
        self.edges = [Edge(module, self.interface, self.cores) for module in self._edge_modules(m)]
        entrances = [self._lane(m, k, core) for k, core in enumerate(self.cores)]
        for edge, of_cores in zip(self.edges, zip(*entrances, strict=True), strict=True):
            edge.add_completions(of_cores)
        if self.interface.rollout is not None:
            self.edges[0].completions += self._commands(m)
        if self.solver is not None:
            self._add_solver(m)
            self.edges[0].completions += self._solver_commands(m)
        for edge, ports in zip(self.edges, self.interface.ports, strict=True):
            edge.connect_ports(self, *ports)

    def _name(self, block: str, k: int) -> str:
        """Return the name of the block that belongs to a core."""
        return f"{block}_{k}" if len(self.cores) > 1 else block

    def _edge_modules(self, m: Module) -> list[Module]:
        """Return the module of each edge: that of the only one is the accelerator's."""
        if self.interface.streams == 1:
            return [m]
        modules = [Module() for _ in self.interface.ports]
        for k, module in enumerate(modules):
            m.submodules[f"edge_{k}"] = module
        return modules

    def _lane(self, m: Module, k: int, core: CorePorts) -> Sequence[Any]:
        """Add a core and the lane before it; return the entrance of each edge's tasks."""
        edges = self.interface.streams
        m.submodules[self._name("core", k)] = core
        steps = self.interface.rollout is not None and self.interface.step.name in core.names
        shared = steps or bool(self._solved_in(core))
        lane = Lane(
            bits=len(core.payload) + (edges - 1).bit_length(),
            functions=len(core.names),
            places=waiting_places(len(self.cores), core.ii, edges),
            reports=steps,
        )
        m.submodules[self._name("lane", k)] = lane
        if not shared:
            m.d.comb += lane.phase_zero.eq(core.phase_zero)
        entrances: Sequence[Any] = [lane]
        if edges > 1:
            m.submodules[self._name("arbiter", k)] = arbiter = self._arbiter(m, lane, core)
            entrances = arbiter.each
        for edge, entrance in zip(self.edges, entrances, strict=True):
            m.d.comb += edge.bring(entrance, core)
        if shared:
            self._share(m, core, lane, steps)
            return entrances
        m.d.comb += [
            core.functions.eq(lane.core_functions),
            core.payload.eq(lane.core_words),
            core.options.eq(lane.core_options),
        ]
        return entrances

    def _arbiter(self, m: Module, lane: Lane, core: CorePorts) -> Arbiter:
        bits = len(core.payload)
        arbiter = Arbiter(edges=self.interface.streams, bits=bits, functions=len(core.names))
        m.d.comb += [
            arbiter.accepts.eq(lane.accepts),
            arbiter.start.eq(lane.start),
            arbiter.edge.eq(lane.core_words[bits:]),
            lane.select.eq(arbiter.select),
            lane.words.eq(arbiter.words),
            lane.options.eq(arbiter.options),
            lane.admit.eq(arbiter.admit),
        ]
        return arbiter

    def _share(self, m: Module, core: CorePorts, lane: Lane, steps: bool) -> None:
        """Add what shares a core with the tasks of its lane: a solver, which goes first, and rollouts."""
        others: list[tuple[Any, Any, Any]] = []
        if functions := self._solved_in(core):
            others.append(self._share_with_solver(m, core, functions))
        if steps:
            self._add_rollouts(m, core, lane, others)
        else:
            m.d.comb += self._core_inputs(core, lane, others)

    @staticmethod
    def _core_inputs(core: CorePorts, lane: Lane, others: Sequence[tuple[Any, Any, Any]]) -> list[Any]:
        """Return the assignments of a core's tasks: those of its lane, and those of ``others``.

        Each of these says whether it starts a task, of which function, and the words; the last goes first.
        """
        free, functions, payload, options = (
            core.phase_zero,
            lane.core_functions,
            lane.core_words,
            lane.core_options,
        )
        for starts, function, words in others:
            free &= ~starts
            functions = Mux(starts, function, functions)
            payload, options = Mux(starts, words, payload), Mux(starts, 0, options)
        return [
            lane.phase_zero.eq(free),
            core.functions.eq(functions),
            core.payload.eq(payload),
            core.options.eq(options),
        ]

    def _solved_in(self, core: CorePorts) -> list[str]:
        """Return the functions of which the solver starts tasks in a core."""
        return [] if self.solver is None else [name for name, its in self.solver.cores.items() if its is core]

    def _share_with_solver(
        self, m: Module, core: CorePorts, functions: Sequence[str]
    ) -> tuple[Any, Any, Any]:
        """Connect the solver to a core; return whether it starts a task of which function, and the words.

        It starts one task in a cycle at most.
        """
        solver, tasks = self.solver, []
        for name in functions:
            code = Const(1 << core.names.index(name), len(core.names))
            tasks.append((getattr(solver, f"starts_{name}"), code, getattr(solver, f"payload_{name}")))
            m.d.comb += [
                getattr(solver, f"phase_zero_{name}").eq(core.phase_zero),
                getattr(solver, f"result_{name}").eq(getattr(core, f"result_{name}")),
                getattr(solver, f"overflow_{name}").eq(getattr(core, f"overflow_{name}")),
            ]
        if "step" in functions:
            m.d.comb += [getattr(core, name).eq(getattr(solver, name)) for name in core.late_ports]
        *others, (starts, function, payload) = tasks
        for other, its_function, its_payload in others:
            function, payload = Mux(other, its_function, function), Mux(other, its_payload, payload)
            starts |= other
        return starts, function, payload

    def _add_solver(self, m: Module) -> None:
        """Add the solver, and give it the tasks at the input."""
        m.submodules.solver = solver = self.solver
        admission, task, names = self.edges[0].admission, self.edges[0].admission.i.p, self.interface.codes
        admits = (admission.admit[list(names).index(name)] for name in SOLVER_COMMANDS)
        m.d.comb += [
            solver.words.eq(self.edges[0].task_words),
            solver.malformed.eq(task.malformed),
            solver.not_finite.eq(task.not_finite),
            solver.admit.eq(Cat(admits)),
        ]

    def _add_rollouts(
        self, m: Module, core: CorePorts, lane: Lane, others: Sequence[tuple[Any, Any, Any]]
    ) -> None:
        """Add rollouts. Their steps start in cycles in which ``others`` start no task."""
        function = self.interface.step.name
        kind = RolloutWithMeans if MPPI in self.interface.codes else Rollout
        m.submodules.rollout = self.rollout = rollout = kind(
            interface=self.interface, slots=core.slots, latency=core.latency(function), ii=core.ii
        )
        (edge,), names = self.edges, list(self.interface.codes)
        admission, task = edge.admission, edge.admission.i.p
        rooms = [admission.available[names.index(name)] for name in core.names]
        step = rollout.starts, 1 << core.names.index(function), rollout.payload
        free = core.phase_zero
        for starts, _, _ in others:
            free &= ~starts
        m.d.comb += [
            lane.offered.eq(edge.offers(core.names, rooms)),
            *self._core_inputs(core, lane, [step, *others]),
            rollout.phase_zero.eq(free),
            rollout.others.eq(lane.waits),
            rollout.result.eq(getattr(core, f"result_{function}")),
            rollout.overflow.eq(getattr(core, f"overflow_{function}")),
            rollout.tag.eq(task.tag),
            rollout.malformed.eq(task.malformed),
            rollout.not_finite.eq(task.not_finite),
            rollout.words.eq(edge.task_words),
            rollout.enters.eq(admission.admit[names.index(ROLLOUT)]),
            rollout.loads.eq(Cat(admission.admit[names.index(name)] for name in self.interface.row_commands)),
        ]
        if self.interface.held:
            m.d.comb += rollout.loaded.eq(admission.odd)
        if self.interface.words(ROLLOUT).extensible:
            m.d.comb += rollout.extended.eq(task.options[EXTENDED])

    def _commands(self, m: Module) -> list[Any]:
        """Return the completions of rollouts and of rows."""
        rollout, admission, names = self.rollout, self.edges[0].admission, list(self.interface.codes)
        commands = []
        for name in (ROLLOUT, *self.interface.row_commands):
            words = self.interface.words(name)
            depth = places(self.interface, words, rollout.latency if name == ROLLOUT else 0, 1)
            completion = Completion(interface=self.interface, function=words, latency=0, depth=depth)
            m.submodules[f"completion_{name}"] = completion
            commands.append(_Command(completion))
        states, *rows = commands
        m.d.comb += [
            states.available.eq(1),
            admission.accepts[names.index(ROLLOUT)].eq(rollout.accepts_rollout),
            rollout.available.eq(states.completion.available),
            states.completion.admit.eq(rollout.reserves),
            states.completion.start.eq(rollout.answers),
            states.completion.recorded.eq(rollout.answers),
            states.completion.record.eq(rollout.record),
            states.completion.result.eq(rollout.answer),
            states.completion.overflow.eq(rollout.answer_overflow),
        ]
        for k, (name, command) in enumerate(zip(self.interface.row_commands, rows, strict=True)):
            self._answer(m, command, rollout.refuses_row[k])
            m.d.comb += [
                admission.accepts[names.index(name)].eq(rollout.accepts_row),
                command.completion.start.eq(command.recorded),
            ]
        return commands + (self._mean_commands(m) if rollout.shape.means else [])

    def _mean_commands(self, m: Module) -> list[Any]:
        """Return the completions of means of samples."""
        rollout, admission, names = self.rollout, self.edges[0].admission, list(self.interface.codes)
        admits = (admission.admit[names.index(name)] for name in MEAN_COMMANDS)
        m.d.comb += rollout.admit_mean.eq(Cat(admits))
        commands = []
        for k, name in enumerate(MEAN_COMMANDS):
            words, latency = self.interface.words(name), int(name == MEAN)
            depth = places(self.interface, words, latency, 1)
            completion = Completion(interface=self.interface, function=words, latency=latency, depth=depth)
            m.submodules[f"completion_{name}"] = completion
            commands.append(command := _Command(completion))
            self._answer(m, command, rollout.refuses_mean[k])
            m.d.comb += [
                admission.accepts[names.index(name)].eq(rollout.accepts_row),
                completion.start.eq(rollout.mean_answers if name == MPPI else command.admit),
                completion.result.eq(rollout.mean_answer if name == MPPI else rollout.row_of_forces),
            ]
        return commands

    def _solver_commands(self, m: Module) -> list[Any]:
        """Return the completions of a solver's commands."""
        shape = self.interface.solver
        assert shape is not None
        solver, admission, names = self.solver, self.edges[0].admission, list(self.interface.codes)
        commands = {}
        for k, name in enumerate(SOLVER_COMMANDS):
            words, latency = self.interface.words(name), int(name == PLAN)
            depth = places(self.interface, words, latency, 1)
            if name == SOLVE:  # all tasks that wait for each other, and one that is refused
                depth = max(depth, 1 << shape.problems.bit_length())
            completion = Completion(interface=self.interface, function=words, latency=latency, depth=depth)
            m.submodules[f"completion_{name}"] = completion
            commands[name] = command = _Command(completion)
            self._answer(m, command, solver.refuses[k])
            waits = name != GOAL
            m.d.comb += [
                admission.accepts[names.index(name)].eq(solver.ready if waits else 1),
                completion.start.eq(solver.answers if name == SOLVE else command.admit),
            ]
        m.d.comb += [
            commands[SOLVE].completion.result.eq(solver.answer),
            commands[PLAN].completion.result.eq(solver.knot),
        ]
        return list(commands.values())

    def _answer(self, m: Module, command: _Command, refused: Any) -> None:
        """Connect the completion of a command; the answer to a ``refused`` one says so."""
        admission, record = self.edges[0].admission, Signal(ADMITTED)
        for k in range(CHECKED):
            refused, before = Signal(name=f"row_refused_{k}"), refused
            m.d.sync += refused.eq(before)
        m.d.comb += [
            record.eq(admission.record),
            record.malformed.eq(admission.record.malformed | refused),
            command.available.eq(command.completion.available),
            command.completion.admit.eq(command.admit),
            command.completion.recorded.eq(command.recorded),
            command.completion.record.eq(record),
        ]


class _Command:
    """The completion of a command as the shell connects it to admission."""

    def __init__(self, completion: Completion) -> None:
        self.completion = completion
        self.o, self.more = completion.o, completion.more
        self.available, self.admit, self.recorded = Signal(), Signal(), Signal()


def _check_functions(cores: Sequence[CorePorts], interface: Interface) -> None:
    known = [function.name for function in interface.computed]
    built = [name for core in cores for name in core.names]
    for name in (name for name in built if name not in known):
        raise ValueError(f"core: has function {name}; expected some of {', '.join(known)}")
    for name in (name for name in known if name not in built):
        raise ValueError(f"function {name}: is in no core; expected it in at least one")


def _check_core(core: CorePorts, interface: Interface) -> None:
    needed = max((interface.slots_of(interface.words(name), extended=True) for name in core.names), default=0)
    if not needed <= len(core.slots) <= len(interface.slots):
        raise ValueError(f"core: has {len(core.slots)} slots; its functions need {needed}")
    for width, widest in zip(core.slots, interface.slots, strict=False):
        if width > widest:
            raise ValueError(f"core: a slot of {width} bits; the functions' slot has {widest}")
    for name in core.names:
        bits, expected = core.result_bits(name), interface.words(name).result_bits
        if bits != expected:
            raise ValueError(f"core: {name} of {bits} bits; the function's outputs have {expected}")
    if core.ii < 1:
        raise ValueError(f"core: initiation interval is {core.ii}; expected at least 1")
