"""The checks of a build's options, those of its cores among them, that do not need a robot."""

from __future__ import annotations

from rbdhw.cores import KINDS
from rbdhw.errors import InputError
from rbdhw.options.build import CHEAPER_CORE, CORES, BuildOptions
from rbdhw.options.checks import check_options


def check_build(options: BuildOptions) -> None:
    """Refuse options that no build can satisfy, those without effect, and cores that cannot be built.

    Raises InputError if an option cannot be satisfied; the message describes the first one and the
    expectation.
    """
    check_options(options)
    check_cores(options)


def check_cores(options: BuildOptions) -> None:
    """Refuse cores that cannot be built with these options; InputError describes the first one."""
    for core in options.each_core():
        _check_core(core, alone=not options.cores)


def _check_core(options: BuildOptions, alone: bool) -> None:
    for kind in KINDS.values():
        if not kind.is_asked(options):
            continue
        if kind.stands_alone and not alone:
            others = ", ".join(name for name in CORES if not KINDS[name].stands_alone)
            remedy = f"use --core {kind.name}, with --copies for several"
            reason = f"a {kind.name} core stands alone"
            raise InputError("cores", reason, f"{others} or {CHEAPER_CORE}", remedy)
        refusal = kind.refusal(options, options.least_ii if options.pacing is None else kind.least_ii)
        if refusal is not None:
            raise refusal
