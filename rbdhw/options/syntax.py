"""The syntax of option values: links, frames, contacts, spheres, drives, intervals, gravity, cores and mixes.

Every function refuses a text of another form with an :class:`~rbdhw.errors.InputError` that names the option.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from rbdhw.errors import InputError
from rbdhw.options.build import CLOCK_GOALS, LINK_PACE, CoreRequest, Pacing
from rbdhw.robot.drives import Drives
from rbdhw.robot.model import CONTACT_KINDS
from rbdhw.robot.mounting import NO_LINKS, PER_TASK, Links

FROM_FILE = "urdf"
"""The word for the damping of the URDF file."""


def parse_links(option: str, texts: Sequence[str], words: Sequence[str]) -> Links:
    """Parse the names of links; each text holds one name, or several separated by commas.

    Without texts there are no links. One of the ``words``, such as ``all``, stands alone. A backslash makes
    the next character part of a name: ``left\\,lower`` is one link, and ``\\all`` a link called ``all``.
    """
    names = [name for text in texts for name in _names(text)]
    for name, plain in names:
        if not name:
            raise InputError(option, "'' is not a link", f"{', '.join(words)}, or names of links")
        if plain and name in words:
            if len(names) == 1:
                return name
            expected = f"it alone, or '\\{name}' for a link of that name"
            raise InputError(option, f"'{name}' beside other links", expected)
    return tuple(dict.fromkeys(name for name, _ in names)) or NO_LINKS


def parse_frames(texts: Sequence[str]) -> tuple[str, ...]:
    """Parse the links of which the kinematics are wanted, in the syntax of :func:`parse_links`.

    Every name is that of a link here, also ``all`` and ``none``. Each may appear once.
    """
    names = [name for text in texts for name, _ in _names(text)]
    for k, name in enumerate(names):
        if not name:
            raise InputError("frames", "'' is not a link", "names of links")
        if name in names[:k]:
            raise InputError("frames", f"link '{name}' appears twice", "each link once")
    return tuple(names)


def parse_contacts(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse the contacts of links, such as ``left_foot:surface``, in the syntax of :func:`parse_frames`.

    Each link may appear once.
    """
    contacts: dict[str, str] = {}
    expected = f"LINK:{' or LINK:'.join(CONTACT_KINDS)}"
    for word in (name for text in texts for name, _ in _names(text)):
        link, _, kind = word.rpartition(":")
        if not link or kind not in CONTACT_KINDS:
            raise InputError("contacts", f"'{word}' is not a link and a kind of contact", expected)
        if link in contacts:
            raise InputError("contacts", f"link '{link}' appears twice", "each link once")
        contacts[link] = kind
    return tuple(contacts.items())


def parse_spheres(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Parse spheres, such as ``hand@0:0:0.1:0.05``: a link or ``world``, a point, and a radius in metres.

    Each may appear once.
    """
    spheres: dict[str, float] = {}
    for word in (name for text in texts for name, _ in _names(text)):
        point, _, number = word.rpartition(":")
        try:
            radius = float(number)
        except ValueError:
            radius = math.nan
        if "@" not in point or not math.isfinite(radius):
            raise InputError("spheres", f"'{word}' is no sphere", "LINK@X:Y:Z:RADIUS, in metres")
        if radius < 0.0:
            raise InputError("spheres", f"'{word}' has the radius {radius:g} m", "a radius from 0 on")
        if point in spheres:
            raise InputError("spheres", f"'{point}' appears twice", "each point once")
        spheres[point] = radius
    return tuple(spheres.items())


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the names in a text, and whether each is written without a backslash."""
    name, plain = "", True
    characters = iter(text)
    for character in characters:
        if character == ",":
            yield name, plain
            name, plain = "", True
        elif character == "\\":
            name, plain = name + next(characters, character), False
        else:
            name += character
    yield name, plain


def parse_drives(damping: Sequence[str], armature: Sequence[str]) -> Drives:
    """Parse the drives of joints, in the syntax of :func:`parse_links`: ``name=number``, or one a freedom.

    The numbers of a joint of several degrees of freedom are separated by colons. The word
    :data:`FROM_FILE` among the dampings takes those of the URDF for the other joints.
    """
    words = [word for text in damping for word, plain in _names(text)]
    named = [word for word in words if word != FROM_FILE]
    rotors = [word for text in armature for word, _ in _names(text)]
    return Drives(FROM_FILE in words, _parse_numbers("damping", named), _parse_numbers("armature", rotors))


def _parse_numbers(option: str, words: Sequence[str]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    numbers_of: dict[str, tuple[float, ...]] = {}
    for word in words:
        name, _, text = word.rpartition("=")
        try:
            numbers = tuple(float(part) for part in text.split(":"))
        except ValueError:
            numbers = ()
        if not name or not numbers or not all(map(math.isfinite, numbers)):
            expected = "JOINT=NUMBER" + (f" or {FROM_FILE}" if option == "damping" else "")
            raise InputError(option, f"'{word}' is not a joint and a number", expected)
        if name in numbers_of:
            raise InputError(option, f"joint '{name}' appears twice", "each joint once")
        numbers_of[name] = numbers
    return tuple(numbers_of.items())


def parse_interval(
    text: str | None, bandwidth: float | None, fit: float | None
) -> tuple[int | None, Pacing | None]:
    """Parse the number of cycles between tasks, or the criteria that choose it.

    ``text`` is a number, :data:`LINK_PACE`, or None: the default, or with ``fit`` as few as fit. A bandwidth
    has an effect only with :data:`LINK_PACE`.
    """
    if text == LINK_PACE:
        return None, Pacing(bandwidth=bandwidth)
    if bandwidth is not None:
        expected = f"it together with --ii {LINK_PACE}"
        raise InputError("bandwidth", f"{bandwidth:g} GB/s has no effect here", expected)
    if text is None:
        return None, None if fit is None else Pacing(link=False)
    try:
        return int(text), None
    except ValueError:
        expected = f"a number of cycles or {LINK_PACE}"
        raise InputError("ii", f"'{text}' is not an interval", expected) from None


def parse_clock(value: str | float | None) -> tuple[float | None, str | None]:
    """Parse a clock in MHz, or what it is chosen for."""
    if value is None or (isinstance(value, str) and value in CLOCK_GOALS):
        return None, value
    try:
        return float(value), None
    except ValueError:
        expected = f"a number of MHz, {' or '.join(CLOCK_GOALS)}"
        raise InputError("clock", f"'{value}' is not a clock", expected) from None


def parse_share(text: str | None) -> float | None:
    """Parse ``60%`` or ``0.6`` as a share above 0 and up to 1."""
    if text is None:
        return None
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = math.nan
    if not 0.0 < share <= 1.0:
        raise InputError("fit", f"'{text}' is not a share of a device", "a percentage such as 60%")
    return share


def parse_gravity(text: str | None) -> tuple[float, float, float] | str | None:
    """Parse ``x,y,z`` in m/s^2; :data:`PER_TASK` and None are returned unchanged."""
    if text is None or text == PER_TASK:
        return text
    try:
        x, y, z = (float(part) for part in text.split(","))
    except ValueError:
        x = y = z = math.nan
    if not all(map(math.isfinite, (x, y, z))):
        raise InputError("gravity", f"'{text}' is not a vector", f"x,y,z in m/s^2 or {PER_TASK}")
    return x, y, z


def parse_cores(text: str | None) -> tuple[CoreRequest, ...]:
    """Parse cores such as ``id,fd:1 dfd,difd:4:array*2``: functions, interval, kind and copies of each."""
    if text is not None and not text.split():
        raise InputError("cores", "none given", _CORES)
    return tuple(_parse_core(word) for word in (text or "").split())


_CORES = (
    "functions:cycles, functions:cycles:kind or functions:cycles*copies, with a space between cores, "
    "as in 'id,fd:1 dfd:4*2'"
)


def _parse_core(text: str) -> CoreRequest:
    match = re.fullmatch(r"([a-z0-9,]+)(?::(\d{1,6}))?(?::([a-z]+))?(?:\*(\d{1,6}))?", text)
    if match is None:
        raise InputError("cores", f"'{text}' is not a core", _CORES)
    functions, ii, core, copies = match.groups()
    return CoreRequest(tuple(filter(None, functions.split(","))), int(ii or 1), core, int(copies or 1))


def parse_mix(text: str | None) -> dict[str, float]:
    """Parse tasks such as ``id=10,dfd=1``."""
    mix = {} if text is None else _by_function("mix", text, "a number of tasks", "id=10,dfd=1")
    if text is not None and not mix:
        raise InputError("mix", "none given", "tasks of functions, as in id=10,dfd=1")
    return mix


def parse_budgets(text: str | None) -> float | dict[str, float] | None:
    """Parse a budget of all functions such as ``1e-4``, or those of some such as ``dstep=0.1,kin=1e-4``."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return _by_function("max-error", text, "a budget", "1e-4 or dstep=0.1,kin=1e-4")


def _by_function(option: str, text: str, what: str, example: str) -> dict[str, float]:
    """Return the number of each function that a text names."""
    numbers: dict[str, float] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        function, _, number = word.partition("=")
        if function in numbers:
            raise InputError(option, f"'{function}' appears twice", "each function once")
        try:
            numbers[function] = float(number)
        except ValueError:
            raise InputError(option, f"'{word}' is not {what}", f"as in {example}") from None
    return numbers


def parse_names(
    option: str, text: str | None, expected: str = "names with commas between"
) -> tuple[str, ...]:
    """Return the distinct names in a comma-separated list, which is not empty; none if it is not given."""
    if text is None:
        return ()
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise InputError(option, "none given", expected)
    return names


def parse_algorithms(texts: Sequence[str], known: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the algorithm of each step from texts ``step=algorithm``; ``known`` has those of each step."""
    forced: dict[str, str] = {}
    for text in texts:
        step, _, name = text.partition("=")
        if step not in known:
            raise InputError("algorithm", f"step '{step}' is unknown", f"one of {', '.join(known)}")
        if name not in known[step]:
            reason = f"'{name}' is unknown for {step}"
            raise InputError("algorithm", reason, f"one of {', '.join(known[step])}")
        if forced.setdefault(step, name) != name:
            raise InputError("algorithm", f"{step} is given twice", "one algorithm for each step")
    return forced
