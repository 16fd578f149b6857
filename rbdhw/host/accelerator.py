"""The functions of a generated folder as methods of an object."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.arrays import kind_of
from rbdhw.design.digests import read_manifest
from rbdhw.design.folder import Design, is_software, read
from rbdhw.errors import InputError
from rbdhw.host.base import chosen_base
from rbdhw.host.engines import open_engine
from rbdhw.protocol import BASE, BASE_HELD, FUNCTIONS, PARAMETERS, ROLLOUT
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import check_loaded, nominal_parameters, with_payload
from rbdhw.sim.arrays import check_parameters
from rbdhw.sim.packets import check_finite
from rbdhw.sim.rollout import applied_forces, roll_out

Array = NDArray[np.float64]


class Accelerator:
    """The functions of a folder that ``rbdhw generate`` wrote: ``acc.dfd(q, v, tau)``.

    There is a method for each function of the folder. Arrays have the order and units of Pinocchio; a ``q``
    with the columns of Pinocchio's own model is converted. An array without the axis of tasks is one task;
    among batches it serves all tasks. Results are named tuples: the arrays of
    :data:`rbdhw.protocol.FUNCTIONS` and ``status``, which is zero for results within the declared accuracy.

    In a build with ``--base any``, ``base`` of the functions that depend on it is ``floating`` (by default),
    ``given`` or ``fixed``, for all tasks or one for each. Where the base is given, it moves by the first six
    entries of ``v``, and by ``base_a``, or those of ``a``.

    Parameters
    ----------
    folder
        The folder.
    engine
        For an accelerator ``model``: the bit-exact model in C, compiled at the first call of each function;
        ``numpy``: the same in NumPy; ``rtl``: the Verilog in Verilator. For software ``float64`` or
        ``float32``: the functions in C, or in CUDA on a GPU, compiled in the same way. For both ``golden``:
        the golden model in float64. The first one is the default. Floating point has a status of zero.

    Raises
    ------
    InputError
        The folder is not complete, or the engine is unknown.
    """

    def __init__(self, folder: str | PathLike[str], engine: str | None = None) -> None:
        self.folder = Path(folder)
        self.engine, self._engine = open_engine(self.folder, engine)
        self.manifest: dict[str, Any] = read_manifest(self.folder)
        self._sets: Array | None = None
        if self.robot.loaded:
            count = self.manifest.get("stream", {}).get("parameter_sets", 1)
            self._sets = np.repeat(nominal_parameters(self.robot)[np.newaxis], count, axis=0)

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self._engine.robot

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the folder."""
        return self._engine.functions

    @property
    def parameters(self) -> Array | None:
        """The inertial parameters (links, 10) of calls without ``parameters``; None if all are constant."""
        return None if self._sets is None else self._sets[0].copy()

    @property
    def parameter_sets(self) -> Array | None:
        """The inertial parameters (sets, links, 10) of all sets that a call can choose; None if constant."""
        return None if self._sets is None else self._sets.copy()

    def load_parameters(self, parameters: Any, set: int = 0) -> None:  # noqa: A002 (the field's own word)
        """Use other inertial parameters in all later calls that take this set.

        Parameters
        ----------
        parameters
            (links, 10), or the ten numbers of some links by name: mass, centre of mass, and inertia about it.
        set
            The number of the set, from 0 on.

        Raises
        ------
        InputError
            They are constant in this build, which may have no such set; no body has them, or they are outside
            of their bounds.
        """
        if self._sets is None or self.robot.loaded is None:
            remedy = "generate with --parameters LINK"
            reason = f"all inertial parameters of {self.folder} are constant"
            raise InputError("parameters", reason, "some that are given at run time", remedy)
        links, found = self.robot.loaded.links, self._set(self._sets, "set", set).copy()
        given = parameters if isinstance(parameters, Mapping) else dict(zip(links, parameters, strict=False))
        for link, numbers in given.items():
            check_loaded(self.robot, link)
            own = np.asarray(numbers, np.float64)
            if own.shape != (found.shape[1],):
                raise InputError(
                    f"parameters, link '{link}'", f"shape {own.shape}", f"{found.shape[1]} numbers"
                )
            found[links.index(link)] = own
        if not isinstance(parameters, Mapping) and np.shape(parameters) != found.shape:
            raise InputError("parameters", f"shape {np.shape(parameters)}", str(found.shape))
        check_finite(PARAMETERS, found)
        check_parameters(self.robot, found[np.newaxis])
        self._sets[set] = found

    def load_payload(
        self,
        mass: float,
        centre: Any = (0.0, 0.0, 0.0),
        inertia: Any = (0.0,) * 6,
        link: str | None = None,
        set: int = 0,  # noqa: A002 (the field's own word)
    ) -> None:
        """Let a link of the URDF carry a load in all later calls that take this set.

        Parameters
        ----------
        mass, centre, inertia
            The load's mass (kg; 0 for none), its centre of mass in the link's frame (m), and its inertia
            (xx, xy, xz, yy, yz, zz) about that centre.
        link
            The link; by default the first whose parameters are given at run time.
        set
            The number of the set, from 0 on.

        Raises
        ------
        InputError
            As :meth:`load_parameters`.
        """
        links = self.robot.loaded.links if self.robot.loaded else ()
        name = link or (links[0] if links else "")
        alone = nominal_parameters(self.robot)[links.index(name)] if name in links else np.zeros(10)
        parts = (np.asarray(part, np.float64) for part in (centre, inertia))
        self.load_parameters({name: with_payload(alone, mass, *parts) if name in links else alone}, set)

    def _set(self, sets: Array, where: str, number: Any) -> Array:
        """Return the parameters (links, 10) of a set.

        Raises
        ------
        InputError
            There is no such set.
        """
        if number not in range(len(sets)):
            expected = "0" if len(sets) == 1 else f"0 to {len(sets) - 1}"
            remedy = "generate with --parameters-by load and more --parameter-sets"
            raise InputError(where, f"{number!r} is not a set of {self.folder}", expected, remedy)
        found: Array = sets[number]
        return found

    def _with_parameters(self, given: dict[str, Array], parameter_set: int | None) -> None:
        """Add the parameters of a set, by default the first, to arrays that bring none.

        Raises
        ------
        InputError
            The arrays bring parameters beside a set, or there is no such set.
        """
        if parameter_set is not None and PARAMETERS in given:
            raise InputError("parameter_set", "the call brings its own parameters", "one of both")
        if self._sets is not None:
            given.setdefault(PARAMETERS, self._set(self._sets, "parameter_set", parameter_set or 0))
        elif parameter_set is not None:
            reason = f"all inertial parameters of {self.folder} are constant"
            raise InputError("parameter_set", reason, "none", "generate with --parameters LINK")

    def __repr__(self) -> str:
        functions = ", ".join(self.functions)
        return f"<accelerator {self.folder} of robot {self.robot.name!r}: {functions}; engine {self.engine}>"

    if TYPE_CHECKING:

        def __getattr__(self, function: str) -> Callable[..., Any]: ...

    def _call(
        self,
        function: str,
        arrays: Mapping[str, Any],
        extended: bool,
        parameter_set: int | None = None,
        base: Any = None,
    ) -> Any:
        """Compute a function for one task or a batch, and return its named results."""
        if function not in self.functions:
            expected = f"one of {', '.join(self.functions)}"
            raise InputError(f"function '{function}'", f"not in {self.folder}", expected)
        given = {name: np.asarray(array, np.float64) for name, array in arrays.items() if array is not None}
        self._check_time_step(function, given)
        if base is not None:
            given |= chosen_base(self.robot, function, base, given)
        if PARAMETERS in FUNCTIONS[function].inputs:
            self._with_parameters(given, parameter_set)
        self._engine.check_optional(function, given)
        one = all(array.ndim == len(kind_of(name).dimensions) for name, array in given.items())
        tasks = _broadcast(given)
        extended = extended or any(name in given for name in FUNCTIONS[function].optional_inputs)
        status, results = self._engine.compute(function, tasks, extended)
        found = [array[0] if one else array for array in results.values()]
        return _results(function, tuple(results))(*found, int(status[0]) if one else status)

    def rollout(
        self,
        q: Any,
        v: Any,
        tau: Any,
        h: Any = None,
        *,
        every: int = 0,
        std: Any = None,
        seed: Any = None,
        x_ref: Any = None,
        Q: Any = None,
        R: Any = None,
        x_nominal: Any = None,
        K: Any = None,
        states: bool = True,
        base_v: Any = None,
        base_a: Any = None,
        gravity: Any = None,
        fext: Any = None,
        parameters: Any = None,
        parameter_set: int | None = None,
        base: Any = None,
    ) -> Any:
        """Return the states after steps in time with the forces ``tau`` (K, nv), the same for all rollouts.

        ``states`` (M, nq + nv) is the last state (M of 1), or with ``every`` those after so many steps each
        and the last. ``first_flagged`` is the first step whose status is not zero, or zero, and ``status``
        is that of all steps together. Batches of first states or seeds have an axis of tasks before.

        In a build with ``--rollout samples``, normal samples of the standard deviations ``std``, (K, nv) or
        (nv,), are added to the forces. They depend on the ``seed`` of the rollout, an integer.

        In a build with ``--rollout cost`` there is also the ``cost``, the sum over all steps of squares: of
        the state behind the step less ``x_ref``, times ``Q``, (K, nq + nv) or (nq + nv,) each; and of the
        forces, times ``R``, (K, nv) or (nv,). Without ``states`` only the cost is sent.

        In a build with ``--rollout gains``, ``K`` times the difference of the state before the step and
        ``x_nominal`` is added to the forces: (K, nv, 2 nv) or (nv, 2 nv), in the tangent space, and
        (K, nq + nv) or (nq + nv,).

        Raises
        ------
        InputError
            The folder takes no rollouts, or an array is unusable.
        """
        arrays = {
            "q": q,
            "v": v,
            "h": h,
            "seed": seed,
            "base_v": base_v,
            "base_a": base_a,
            "gravity": gravity,
            "fext": fext,
            "parameters": parameters,
        }
        rows = {"tau": tau, "std": std, "x_ref": x_ref, "Q": Q, "R": R}
        rows |= {"x_nominal": x_nominal, "K": K}
        design, tasks, one = self._rollouts(arrays, rows, parameter_set, base)
        results = roll_out(self.folder, design, tasks, every, self.engine, states=states)
        found = [array[0] if one else array for array in results.values()]
        return _results(ROLLOUT, tuple(results)[:-1])(*found)

    def rollout_forces(self, tau: Any, std: Any, seed: Any) -> Array:
        """Return the forces (K, nv) that a rollout applies: ``tau`` plus the samples of its seed, limited.

        What feedback adds is left out.

        The arrays are those of :meth:`rollout`. Several seeds have an axis of tasks before.

        Raises
        ------
        InputError
            The folder draws no samples, or an array is unusable.
        """
        rest = {name: np.zeros(size) for name, size in (("q", self.robot.nq), ("v", self.robot.nv))}
        if self.robot.time_step is None:
            rest["h"] = np.zeros(())
        design, tasks, one = self._rollouts({**rest, "seed": seed}, {"tau": tau, "std": std})
        found = applied_forces(design, tasks, self.engine)
        return found[0] if one else found

    def _rollouts(
        self,
        arrays: Mapping[str, Any],
        rows: Mapping[str, Any],
        parameter_set: int | None = None,
        base: Any = None,
    ) -> tuple[Design, dict[str, Array], bool]:
        """Return the design, the arrays of rollouts with an axis of tasks, and whether there is only one."""
        if self._design is None:
            expected = "an accelerator, generated with --functions rollout"
            raise InputError("rollout", f"{self.folder} is software", expected)
        given = {name: np.asarray(array, np.float64) for name, array in arrays.items() if array is not None}
        self._check_time_step("step", given)
        if base is not None:
            given |= chosen_base(self.robot, "step", base, given)
        self._with_parameters(given, parameter_set)
        one = all(array.ndim == len(kind_of(name).dimensions) for name, array in given.items())
        loaded = {name: np.asarray(array, np.float64) for name, array in rows.items() if array is not None}
        return self._design, _broadcast(given) | loaded, one

    @cached_property
    def _design(self) -> Design | None:
        """The design; None for software."""
        return None if is_software(self.manifest) else read(self.folder)

    def _check_time_step(self, function: str, given: Mapping[str, Array]) -> None:
        """Check that tasks bring a step in time if the build does not have a fixed one."""
        fixed = self.robot.time_step
        if fixed is not None and "h" in given:
            raise InputError("array 'h'", f"this build has a time step of {fixed:g} s", "none")
        if "h" in golden.inputs_of(self.robot, function) and "h" not in given:
            raise InputError("array 'h'", "missing", "the step in time of each task, or one for all")


def _broadcast(given: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays with an axis of tasks; arrays of one task serve all tasks.

    Raises
    ------
    InputError
        Batches differ in length.
    """
    batches = {
        name: len(array) for name, array in given.items() if array.ndim > len(kind_of(name).dimensions)
    }
    if len(set(batches.values())) > 1:
        found = ", ".join(f"{size} of {name}" for name, size in batches.items())
        raise InputError("arrays", found, "as many tasks in each")
    tasks = next(iter(batches.values()), 1)
    return {
        name: array if name in batches else np.broadcast_to(array, (tasks, *array.shape))
        for name, array in given.items()
    }


@cache
def _results(function: str, arrays: tuple[str, ...]) -> Callable[..., Any]:
    """Return the type of a function's results."""
    return namedtuple(f"{function}_results", [*arrays, "status"])


def _method(function: str) -> Callable[..., Any]:
    """Return the method that computes a function; its signature has the function's arrays."""
    own = FUNCTIONS[function]
    required = [name for name in own.inputs if name not in (BASE_HELD, *BASE, "fext")]
    chosen = [name for name in own.inputs if name not in (BASE_HELD, *required)]
    kinds = inspect.Parameter
    parameters = [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
    parameters += [
        kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None if name == "h" else kinds.empty)
        for name in required
    ]
    parameters += [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in (*chosen, *own.optional_inputs)]
    if own.base_choice:
        parameters.append(kinds("base", kinds.KEYWORD_ONLY, default=None))
    if own.optional_outputs:
        parameters.append(kinds("extended", kinds.KEYWORD_ONLY, default=False))
    if PARAMETERS in own.inputs:
        parameters.append(kinds("parameter_set", kinds.KEYWORD_ONLY, default=None))
    signature = inspect.Signature(parameters)
    names = [*required]

    def method(self: Accelerator, *positional: Any, **named: Any) -> Any:
        if len(positional) != len(names) or named:
            arguments = signature.bind(self, *positional, **named).arguments
            extended, chosen = arguments.pop("extended", False), arguments.pop("parameter_set", None)
            base = arguments.pop("base", None)
            del arguments["self"]
            return self._call(function, arguments, extended, chosen, base)
        return self._call(function, dict(zip(names, positional, strict=True)), False)

    method.__name__ = function
    method.__qualname__ = f"Accelerator.{function}"
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__doc__ = _describe(function)
    return method


def _describe(function: str) -> str:
    """Return the documentation of a method: shapes for one task, before which batches have an axis."""
    own = FUNCTIONS[function]
    given = ", ".join(f"``{name}`` {_shape(name, function)}" for name in own.outputs + own.optional_outputs)
    optional = (
        f" ``{'``, ``'.join(own.optional_outputs)}`` with ``extended``." if own.optional_outputs else ""
    )
    return f"Return the {own.title}: {given}, and ``status``.{optional}"


def _shape(name: str, function: str) -> str:
    """Return the shape of a function's result for one task, with the names of its lengths."""
    lengths = list(map(str, kind_of(name, function).dimensions))
    if not lengths:
        return "()"
    return f"({lengths[0]},)" if len(lengths) == 1 else f"({', '.join(lengths)})"


for _function in FUNCTIONS:
    setattr(Accelerator, _function, _method(_function))
