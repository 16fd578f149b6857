"""What an option of a build is, and the limits of its value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from rbdhw.errors import InputError, unknown
from rbdhw.options.build import BuildOptions
from rbdhw.options.effects import Effect
from rbdhw.robot.mounting import NO_LINKS
from rbdhw.runtime.number_bounds import Bound

ROBOT, HARDWARE = "Robot and functions", "Hardware"
"""The two groups of options. ``info`` without --explore, and software, refuse the hardware options."""

NOTHING: tuple[object, ...] = (None, (), {}, NO_LINKS, 0, 1, "auto")
"""The defaults that ask for nothing: an option that is given with one of them changes nothing anywhere."""

Parse = Callable[[Any], Any]
Check = Callable[[str, Any], None]


@dataclass(frozen=True)
class Option:
    """An option of a build."""

    name: str
    """Its name on the command line, without hyphens in front; in Python with underscores."""
    group: str
    """:data:`ROBOT` or :data:`HARDWARE`."""
    kind: Any
    """The type of its value on the command line."""
    help: str
    """A sentence for the command line and the documentation."""
    default: Any = None
    """Its value on the command line if it is not given."""
    attribute: str = ""
    """Where its value stands in :class:`BuildOptions`, with dots between; empty if it stands nowhere by
    itself."""
    metavar: str | None = None
    """The name of the value in the help."""
    parse: Parse = lambda value: value
    """Returns the value in the build from that on the command line."""
    check: Check = lambda _name, _value: None
    """Refuses a value in the build that is not possible; it is not called for None."""
    effects: tuple[Effect, ...] = ()
    """Where the option has an effect."""

    @property
    def key(self) -> str:
        """The option's name in Python."""
        return self.name.replace("-", "_")

    def value(self, options: BuildOptions) -> Any:
        """Return its value in a build."""
        return attrgetter(self.attribute)(options)

    def check_value(self, options: BuildOptions) -> None:
        """Refuse a value that no build can have."""
        if self.attribute and (value := self.value(options)) is not None:
            self.check(self.name, value)

    def check_effects(self, options: BuildOptions, named: Collection[str]) -> None:
        """Refuse the option where it asks for something and has no effect.

        ``named`` has the names in Python of the options that were given by name.
        """
        if self._is_asked(options, self.key in named):
            for effect in self.effects:
                if not effect.holds(options):
                    reason = effect.reason.format(target=options.target)
                    raise InputError(self.name, reason, effect.expected, effect.remedy)

    def _is_asked(self, options: BuildOptions, named: bool) -> bool:
        """Return whether the option asks for something, by its value or because it is given."""
        if not self.attribute:
            return named
        default = self.value(_DEFAULTS)
        return self.value(options) != default or (named and default not in NOTHING)


_DEFAULTS = BuildOptions()


def among(known: Sequence[str]) -> Check:
    """Return a check that a value is one of the known ones."""

    def check(name: str, value: str) -> None:
        if value not in known:
            raise unknown(name, value, known)

    return check


def between(
    values: Sequence[int], unit: str = "", wrong: str = "is not possible", listed: bool = False
) -> Check:
    """Return a check that a number is one of a range; ``listed``: the refusal lists all possible ones."""
    range_text = f"{values[0]} to {values[-1]}" + f" {unit}" * bool(unit)
    expected = f"one of {', '.join(map(str, values))}" if listed else range_text

    def check(name: str, value: int) -> None:
        if value not in values:
            raise InputError(name, f"{value} {wrong}", expected)

    return check


def positive(bound: Bound, wrong: str) -> Check:
    """Return a check that a number is positive and within a bound."""

    def check(name: str, value: float) -> None:
        if not (value > 0.0 and bound.holds(value)):
            raise InputError(name, f"{value:g} {wrong}", bound.positive)

    return check


def distinct_names(known: Sequence[str] | None = None, what: str = "") -> Check:
    """Return a check that names differ and, if ``known`` is given, that each is known."""

    def check(name: str, value: Sequence[str]) -> None:
        for k, item in enumerate(value):
            if known is not None and item not in known:
                raise InputError(name, f"'{item}' is unknown", f"some of {', '.join(known)}")
            if item in value[:k]:
                raise InputError(name, f"'{item}' appears twice", f"each {what} once")

    return check
