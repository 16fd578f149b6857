"""The protocol on the accelerator's streams: the functions, and the commands beside them.

The hardware, the host and the generator all read these tables. :mod:`rbdhw.header` has the header of packets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """An entry of the registry: the arrays of a function, and its relations to other functions."""

    code: int
    """The function's number in packets. It is never changed, and never given to another function."""
    title: str
    """The function's name in prose."""
    inputs: tuple[str, ...]
    """The arrays of every request, in the order in which their words travel."""
    outputs: tuple[str, ...]
    """The arrays of every response, in this order."""
    optional_inputs: tuple[str, ...] = ()
    """Arrays that follow the others in tasks with the option :data:`rbdhw.header.EXTENDED`."""
    optional_outputs: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    """The steps of :data:`rbdhw.options.algorithms.ALGORITHMS` that the function contains."""
    derivative_of: str | None = None
    """The function of which it is a derivative."""
    cost_like: str | None = None
    """A function whose graph depends on the robot's frames in the same way. The cost of rewrites is evaluated
    with that function; by default with this one."""
    framed: bool = False
    """Whether it has results for each of the robot's frames."""
    stages: int = 1
    """The states at which the function evaluates the dynamics, one after the other."""

    @property
    def extensible(self) -> bool:
        """Whether tasks of the function may set the option :data:`rbdhw.header.EXTENDED`."""
        return bool(self.optional_inputs or self.optional_outputs)

    @property
    def inverts(self) -> bool:
        """Whether the function needs the inverse of the mass matrix."""
        return "inverse" in self.algorithms

    @property
    def takes_inverse(self) -> bool:
        """Whether a task may bring the inverse of its mass matrix."""
        return "Minv" in self.optional_inputs

    @property
    def takes_force(self) -> bool:
        """Whether tasks bring joint forces instead of accelerations."""
        return "tau" in self.inputs

    @property
    def base_choice(self) -> tuple[str, ...]:
        """The arrays by which a task says that its base is held, and how it moves, if the build lets it."""
        if BASE_HELD not in self.inputs:
            return ()
        return (BASE_HELD, "base_a") if self.takes_force else (BASE_HELD,)

    @property
    def touches(self) -> bool:
        """Whether tasks choose among the build's contacts."""
        return CONTACT in self.inputs

    @property
    def clears(self) -> bool:
        """Whether the function has results for pairs of the robot's spheres."""
        return "clearance" in self.outputs

    @property
    def integrates(self) -> bool:
        """Whether the function takes a step in time."""
        return NEXT_STATE in self.outputs


NEXT_STATE = "x_next"
"""The array of the state after a step in time: the configuration, then the velocity."""

TRACKED = "p_next"
"""The array of the positions of frames behind a step, in builds that have costs of them."""

TRACKED_JACOBIAN = "J_next"
"""The array of their Jacobians there, in the same builds."""

PARAMETERS = "parameters"
"""The inertial parameters of chosen links: mass, centre of mass, and inertia about it."""

BASE = ("base_v", "base_a", "gravity", PARAMETERS)
"""The base's motion, gravity and inertial parameters, which tasks bring if the build is configured so."""

BASE_HELD = "base_held"
"""Whether the base moves as the task says, 1, or floats, 0. Tasks choose if the build is configured so."""

CONTACT = "contact"
"""Which of the build's contacts a task has: one or zero each."""

HOLDING = "holding"
"""The damping of contacts and the gains for velocity and position, which tasks bring in some builds."""

_BY_ACCELERATION = ("q", "v", "a", *BASE, "fext")
_BY_FORCE = ("q", "v", "tau", BASE_HELD, *BASE, "fext")
_BY_CONTACTS = ("q", "v", "tau", CONTACT, HOLDING, BASE_HELD, *BASE, "fext")
_BY_CONTACT_STEP = ("q", "v", "tau", "h", CONTACT, HOLDING, BASE_HELD, *BASE, "fext")
_BY_STEP = ("q", "v", "tau", "h", BASE_HELD, *BASE, "fext")

FUNCTIONS: dict[str, Function] = {
    "id": Function(0, "inverse dynamics", _BY_ACCELERATION, ("tau",), algorithms=("axes",)),
    "fd": Function(
        1,
        "forward dynamics",
        _BY_FORCE,
        ("a",),
        algorithms=("axes", "inverse", "products", "forward"),
        cost_like="id",
    ),
    "m": Function(2, "mass matrix", ("q", PARAMETERS), ("M",), algorithms=("axes",)),
    "minv": Function(
        3,
        "inverse of the mass matrix",
        ("q", BASE_HELD, PARAMETERS),
        ("Minv",),
        algorithms=("axes", "inverse"),
        cost_like="m",
    ),
    "did": Function(
        4,
        "derivatives of inverse dynamics",
        _BY_ACCELERATION,
        ("dtau_dq", "dtau_dv"),
        optional_outputs=("tau", "M"),
        algorithms=("axes", "derivatives"),
        derivative_of="id",
    ),
    "dfd": Function(
        5,
        "derivatives of forward dynamics",
        _BY_FORCE,
        ("da_dq", "da_dv"),
        optional_outputs=("Minv", "a"),
        algorithms=("axes", "derivatives", "inverse", "products", "gradient"),
        derivative_of="fd",
        cost_like="did",
    ),
    "difd": Function(
        6,
        "derivatives of forward dynamics at given accelerations",
        ("q", "v", "a", BASE_HELD, *BASE, "fext"),
        ("da_dq", "da_dv"),
        optional_inputs=("Minv",),
        algorithms=("axes", "derivatives", "inverse", "products"),
        derivative_of="fd",
        cost_like="did",
    ),
    "sid": Function(
        7,
        "second derivatives of inverse dynamics",
        _BY_ACCELERATION,
        ("d2tau_dqdq", "d2tau_dqdv", "d2tau_dvdv", "dM_dq"),
        algorithms=("axes", "second"),
    ),
    "sfd": Function(
        8,
        "second derivatives of forward dynamics",
        _BY_FORCE,
        ("d2a_dqdq", "d2a_dqdv", "d2a_dvdv", "dMinv_dq"),
        algorithms=("axes", "derivatives", "inverse", "products", "second", "rates"),
    ),
    "hid": Function(
        9,
        "second derivatives of lambda_tau . tau, of inverse dynamics",
        ("q", "v", "a", "lambda_tau", *BASE, "fext"),
        ("H_qq", "H_qv", "H_vv", "H_qa"),
        algorithms=("axes", "second"),
    ),
    "hfd": Function(
        10,
        "second derivatives of lambda_a . a, of forward dynamics",
        ("q", "v", "tau", "lambda_a", BASE_HELD, *BASE, "fext"),
        ("H_qq", "H_qv", "H_vv", "H_qtau"),
        algorithms=("axes", "derivatives", "inverse", "products", "second"),
    ),
    "kin": Function(
        11,
        "kinematics of the chosen frames",
        ("q", "v", "a", "base_v", "base_a"),
        ("placement", "J", "velocity"),
        optional_outputs=("acceleration", "dv_dq", "da_dq", "da_dv"),
        framed=True,
    ),
    "step": Function(
        12,
        "state after a step by semi-implicit Euler",
        _BY_STEP,
        (NEXT_STATE, TRACKED),
        algorithms=("axes", "inverse", "products", "forward"),
        cost_like="id",
    ),
    "dstep": Function(
        13,
        "state after a step by semi-implicit Euler, and its derivatives",
        _BY_STEP,
        ("x_next", "A", "B", TRACKED_JACOBIAN),
        algorithms=("axes", "derivatives", "inverse", "products", "gradient"),
        cost_like="did",
    ),
    "rk4": Function(
        14,
        "state after a step by Runge-Kutta",
        _BY_STEP,
        ("x_next",),
        algorithms=("axes", "inverse", "products", "forward"),
        cost_like="id",
        stages=4,
    ),
    "drk4": Function(
        15,
        "state after a step by Runge-Kutta, and its derivatives",
        _BY_STEP,
        ("x_next", "A", "B"),
        algorithms=("axes", "derivatives", "inverse", "products", "gradient"),
        cost_like="did",
        stages=4,
    ),
    "gravity": Function(
        21, "joint forces of gravity", ("q", "gravity", PARAMETERS), ("tau",), algorithms=("axes",)
    ),
    "bias": Function(
        22,
        "joint forces at zero acceleration",
        ("q", "v", *BASE, "fext"),
        ("tau",),
        algorithms=("axes",),
        cost_like="id",
    ),
    "energy": Function(
        23,
        "kinetic and potential energy",
        ("q", "v", "base_v", "gravity", PARAMETERS),
        ("kinetic", "potential"),
        algorithms=("axes",),
        cost_like="m",
    ),
    "com": Function(
        24,
        "centre of mass",
        ("q", "v", "base_v", "base_a", PARAMETERS),
        ("com", "com_velocity", "J_com"),
        optional_outputs=("dJ_com_v",),
        algorithms=("axes",),
        cost_like="m",
    ),
    "centroidal": Function(
        25,
        "momentum about the centre of mass",
        ("q", "v", "base_v", "base_a", PARAMETERS),
        ("h_g", "A_g"),
        optional_outputs=("dA_g_v",),
        algorithms=("axes",),
        cost_like="m",
    ),
    "regressor": Function(
        26,
        "regressor of inverse dynamics by the parameters of chosen links",
        ("q", "v", "a", "base_v", "base_a", "gravity"),
        ("Y",),
        cost_like="id",
        framed=True,
    ),
    "cfd": Function(
        27,
        "forward dynamics with contacts",
        _BY_CONTACTS,
        ("a", "contact_force"),
        algorithms=("axes", "inverse", "products", "forward", "contacts"),
        cost_like="id",
    ),
    "impulse": Function(
        28,
        "velocity after an impact of contacts",
        ("q", "v", CONTACT, HOLDING, BASE_HELD, "base_v", PARAMETERS),
        ("v_after", "contact_impulse"),
        algorithms=("axes", "inverse", "contacts"),
        cost_like="m",
    ),
    "cstep": Function(
        29,
        "state after a step with contacts by semi-implicit Euler",
        _BY_CONTACT_STEP,
        (NEXT_STATE, TRACKED),
        algorithms=("axes", "inverse", "products", "forward", "contacts"),
        cost_like="id",
    ),
    "dcfd": Function(
        30,
        "derivatives of forward dynamics with contacts",
        _BY_CONTACTS,
        ("da_dq", "da_dv", "da_dtau"),
        optional_outputs=("dforce_dq", "dforce_dv", "dforce_dtau", "da_dholding", "dforce_dholding"),
        algorithms=("axes", "derivatives", "inverse", "products", "gradient"),
        derivative_of="cfd",
        cost_like="did",
    ),
    "dcstep": Function(
        31,
        "state after a step with contacts by semi-implicit Euler, and its derivatives",
        _BY_CONTACT_STEP,
        ("x_next", "A", "B"),
        algorithms=("axes", "derivatives", "inverse", "products", "gradient"),
        cost_like="did",
    ),
    "pose": Function(
        32, "placement of the chosen frames", ("q",), ("placement",), cost_like="kin", framed=True
    ),
    "position": Function(
        33,
        "position of the chosen frames",
        ("q",),
        ("position",),
        optional_outputs=("J_position",),
        cost_like="kin",
        framed=True,
    ),
    "dcentroidal": Function(
        34,
        "derivatives of the momentum about the centre of mass, and of its rate",
        ("q", "v", "a", "base_v", "base_a", PARAMETERS),
        ("dh_dq", "dhdot_dq", "dhdot_dv"),
        optional_outputs=("hdot_g", "A_g"),
        algorithms=("axes",),
        derivative_of="centroidal",
        cost_like="did",
    ),
    "dfext": Function(
        35,
        "derivatives of joint forces and of accelerations by forces on the chosen frames",
        ("q", BASE_HELD, PARAMETERS),
        ("dtau_dfext", "da_dfext"),
        algorithms=("axes", "inverse", "products"),
        cost_like="m",
        framed=True,
    ),
    "clearance": Function(
        36, "squared distances between spheres, and their derivatives", ("q",), ("clearance", "dclearance_dq")
    ),
    "cinertia": Function(
        37,
        "inertia that contacts feel, the inverse of Delassus' matrix",
        ("q", CONTACT, HOLDING, BASE_HELD, PARAMETERS),
        ("contact_inertia",),
        algorithms=("axes", "inverse", "contacts"),
        cost_like="m",
    ),
}
"""The registry of functions, in the order of their codes.

A function that is added takes the lowest code that neither a function nor a command ever had."""

WHOLE_BODY = ("energy", "com", "centroidal", "dcentroidal")
"""The functions of a robot as one body. They need the masses of all links, felt by a joint or not."""

DEFAULT_FUNCTIONS = ("id", "fd", "m", "minv", "did", "dfd", "difd")
"""The functions of a build for which no others are asked."""

CERTIFIED = {"fd": ("a",), "minv": ("Minv",), "dfd": ("da_dq", "da_dv")}
"""The functions whose answers have certificates, and the results that those bound."""

SOLVE, MPPI = "solve", "mppi"
"""Optimal control of a horizon, by derivatives, and by samples."""


def steps_with(contacts: bool) -> tuple[str, str]:
    """Return the step in time of optimal control and the function of its derivatives."""
    return ("cstep", "dcstep") if contacts else ("step", "dstep")


def rolled_by(functions: Collection[str]) -> str | None:
    """Return the function whose steps rollouts of an accelerator take; None if it is not built."""
    return next((step for step, _ in map(steps_with, (False, True)) if step in functions), None)


ROLLOUT, LOAD, LOAD_PARAMETERS = "rollout", "load", "load_parameters"
LOAD_COST, LOAD_GAINS, LOAD_RESIDUAL = "load_cost", "load_gains", "load_residual"
GOAL, PLAN = "goal", "plan"
FORCE_LIMITS = ("tau_min", "tau_max")
MEAN = "mean"

ROW_INPUTS = ("tau", CONTACT)
"""The arrays of a step that are loaded before rollouts, for each step; all others come with a rollout."""

COMMANDS: dict[str, Function] = {
    ROLLOUT: Function(
        16,
        "state after several steps, without the link between them",
        ("q", "v", "h", HOLDING, BASE_HELD, *BASE, "fext", "steps", "every", "seed"),
        ("x_next", "step", "first_flagged", "cost"),
    ),
    LOAD: Function(
        17,
        "load the forces and the contacts of one step of rollouts",
        (*ROW_INPUTS, "row", "std", "x_nominal"),
        (),
    ),
    LOAD_PARAMETERS: Function(18, "load the inertial parameters of later tasks", (PARAMETERS,), ()),
    LOAD_COST: Function(
        19,
        "load the reference and the weights of one step",
        ("x_ref", "x_weight", "tau_weight", "row", "y", "y_weight", "p_ref", "p_weight"),
        (),
    ),
    LOAD_GAINS: Function(
        20, "load the gains of the feedback to one force in one step", ("gain", "row", "coordinate"), ()
    ),
    SOLVE: Function(
        38,
        "cheapest forces of a horizon",
        ("q", "v", "tau", "h", "iterations", "warm", "shift", "more", "problem"),
        ("tau", "cost", "iterations", "regularisation", "solved", "followed", "K"),
    ),
    GOAL: Function(
        39,
        "load the references, the weights and the limits of one step of solutions",
        (
            *("x_ref", "tau_ref", "problem", "row", "p_ref", "x_weight", "p_weight", "tau_weight"),
            *("x_slope", "p_slope", "tau_slope", "x_curvature", "p_curvature", "tau_curvature"),
            *("d_weight", "d_row", "d_curvature"),
            *FORCE_LIMITS,
        ),
        (),
    ),
    PLAN: Function(
        40, "state, forces and gains of a knot of the last solution", ("problem", "row"), ("x", "tau", "K")
    ),
    MPPI: Function(
        41,
        "mean of the forces of samples of rollouts",
        ("q", "v", "h", "samples", "seed", "scale", "exponent", "shift"),
        ("tau", "least", "weight", "square", "counted"),
    ),
    MEAN: Function(42, "forces of one step of rollouts", ("row",), ("tau",)),
    LOAD_RESIDUAL: Function(43, "load the coefficients of one residual of all steps", ("C", "row"), ()),
}
"""What an accelerator does beside the functions of a core.

A rollout takes steps of ``step`` or ``cstep``, whose results go back into the core
(:mod:`rbdhw.rtl.rollout`). A solver does so, too, and takes derivatives (:mod:`rbdhw.cores.solver`)."""

STEP_ROWS = (LOAD, LOAD_COST, LOAD_GAINS)
"""The commands that load a row for a step of rollouts."""

ROW_COMMANDS = (LOAD, LOAD_COST, LOAD_RESIDUAL, LOAD_GAINS)
"""The commands that load rows of rollouts, in the order of interfaces; residuals are those of all steps."""

SOLVER_COMMANDS = (SOLVE, GOAL, PLAN)
"""The commands of a solver."""

MEAN_COMMANDS = (MPPI, MEAN)
"""The commands of means of samples."""

SAMPLES, COST, GAINS = "samples", "cost", "gains"

ROLLOUT_PARTS: dict[str, str] = {
    SAMPLES: "normal samples, drawn on the chip, are added to the forces",
    COST: "squares of weighted errors and forces are added up",
    GAINS: "gains times the error of the state are added to the forces",
}
"""What rollouts of a build may have beside the forces that are loaded."""

ASKED = (*FUNCTIONS, ROLLOUT, SOLVE, MPPI)
"""What ``--functions`` can ask for."""

CODES = {name: entry.code for name, entry in (FUNCTIONS | COMMANDS).items()}
"""The code of every function, then those of the commands."""


def functions_with(condition: Callable[[Function], bool]) -> tuple[str, ...]:
    """Return the names of the functions whose entries meet a condition, in the registry's order."""
    return tuple(name for name, entry in FUNCTIONS.items() if condition(entry))


def staged(names: Iterable[str]) -> bool:
    """Return whether one of the functions works in several stages."""
    return not set(functions_with(lambda entry: entry.stages > 1)).isdisjoint(names)


def any_takes(functions: Iterable[str], array: str) -> bool:
    """Return whether tasks of any of the functions may bring an array."""
    return any(array in FUNCTIONS[name].inputs + FUNCTIONS[name].optional_inputs for name in functions)


def function_giving(array: str, function: str) -> str:
    """Return the function whose only result is an optional result of ``function``, if there is one.

    Otherwise no other function gives it, and ``function`` itself is returned.
    """
    return next((name for name, entry in FUNCTIONS.items() if entry.outputs == (array,)), function)


FLAGS: dict[str, tuple[tuple[str, ...], bool]] = {
    "acceleration_given": (functions_with(lambda entry: "a" in entry.inputs), False),
    "inverse_given": (functions_with(lambda entry: entry.takes_inverse), True),
}
"""Flags that a core derives from the header. For each, the functions whose tasks set it, and whether these
tasks must also have the option :data:`rbdhw.header.EXTENDED`."""

CHOICES = (*FLAGS, BASE_HELD, CONTACT)
"""The inputs of a core that are one or zero, and choose between values: flags, and arrays of the task."""


def is_choice(name: str) -> bool:
    """Return whether an input of a core, such as ``contact[1]``, is one of :data:`CHOICES`."""
    return name.partition("[")[0] in CHOICES


def flag_values(function: str, extended: bool) -> dict[str, bool]:
    """Return the value of every flag for a task of a function, with or without the option EXTENDED."""
    return {
        flag: function in functions and (extended or not optional)
        for flag, (functions, optional) in FLAGS.items()
    }
