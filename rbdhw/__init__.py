"""Generate accelerators and software for rigid-body dynamics from URDF files."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rbdhw.front import accelerator, results

__all__ = ["generate", "info", "load", "power", "report", "simulate", "study"]


def generate(
    urdf: str | PathLike[str], folder: str | PathLike[str], *, check_timing: str | None = None, **options: Any
) -> results.Generated:
    """Write an accelerator for the robot of a URDF file to a folder; with ``target="c"``, C.

    Parameters
    ----------
    urdf
        The robot description.
    folder
        The folder. An unchanged design that is there is replaced.
    check_timing
        With ``"warn"`` or ``"refuse"``, map the design with Yosys; what follows if static timing does not
        confirm its clock.
    options
        The options of ``rbdhw generate`` by their names, with underscores: ``functions="id,fd"``, ``ii=4``,
        ``max_error=1e-4``. A value is a text as on the command line, or an object of Python that says the
        same: a number, a sequence of names or numbers, or a mapping.

    Returns
    -------
    Generated
        The manifest. It prints as the command does, and ``load()`` gives the object of :func:`load`.

    Raises
    ------
    rbdhw.errors.InputError
        The robot or an option is not supported, the folder holds something else, or the clock is refused.
    """
    from rbdhw.front.calls import generate_folder
    from rbdhw.options.arguments import asked_build

    return generate_folder(Path(urdf), Path(folder), *asked_build(**options), check_timing)


def info(urdf: str | PathLike[str], **options: Any) -> results.Description:
    """Describe a robot before a build: joints, coordinates with bounds, operations of the functions.

    Parameters
    ----------
    urdf
        The robot description.
    options
        As for :func:`generate`.

    Returns
    -------
    Description
        The data of ``rbdhw info --json``. It prints as the command does.

    Raises
    ------
    rbdhw.errors.InputError
        The robot or an option is not supported.
    """
    from rbdhw.front.calls import describe_robot
    from rbdhw.options.arguments import asked_build

    return describe_robot(Path(urdf), *asked_build(**options))


def load(
    folder: str | PathLike[str],
    engine: str | None = None,
    *,
    transport: str | None = None,
    timeout: float | None = None,
    attempts: int | None = None,
    outside: str = "limit",
) -> accelerator.Accelerator:
    """Return a folder that :func:`generate` wrote, as an object with a method for each function.

    Parameters
    ----------
    engine
        ``model`` (by default), ``numpy``, ``rtl``, ``driver``, ``board`` or ``golden`` for an accelerator;
        ``float64`` (by default), ``float32`` or ``golden`` for software: see
        :class:`rbdhw.front.accelerator.Accelerator`.
    transport
        Of the engine ``board``: ``serial:/dev/ttyUSB0``, ``udp:192.168.1.50:21072``, ``xdma:/dev/xdma0`` or
        ``uio:/dev/uio0,/dev/uio1,/dev/udmabuf0``.
    timeout, attempts
        The seconds after which the engine ``board`` sends a request again, 0.2 by default, and the most times
        that it sends one, 4 by default.
    outside
        What becomes of a task outside the domain: ``limit``, so that its numbers are limited and its status
        says so, or ``refuse``, so that the call raises InputError, also for numbers that are not finite.

    Raises
    ------
    rbdhw.errors.InputError
        The folder is not complete, or does not have the engine; or the board is absent, in use, or has
        another design.
    rbdhw.errors.DriverError
        The board does not answer.
    """
    from rbdhw.front.accelerator import Accelerator

    return Accelerator(
        folder, engine, transport=transport, timeout=timeout, attempts=attempts, outside=outside
    )


def power(
    folder: str | PathLike[str],
    function: str | None = None,
    tasks: int = 200,
    seed: int = 0,
    *,
    saif: str | PathLike[str] | None = None,
) -> results.Powered:
    """Count how often signals change while tasks of one function follow each other; estimate the power.

    Parameters
    ----------
    folder
        A folder with an accelerator.
    function
        One of its functions; by default the first.
    tasks, seed
        The number of random tasks, and their seed.
    saif
        A file for the toggles of all signals, which a vendor's power report reads.

    Returns
    -------
    Powered
        The data of ``rbdhw power --json``: toggles of a bit in a cycle by region, and for UltraScale+ the
        power (W), the energy of a task (nJ), and its product with the latency (nJ us).

    Raises
    ------
    rbdhw.errors.InputError
        The folder is not complete, has no such function, or a package is missing.
    """
    from rbdhw.front.calls import power_of_folder

    return power_of_folder(Path(folder), function, tasks, seed, None if saif is None else Path(saif))


def report(
    folder: str | PathLike[str],
    output: str | PathLike[str] | None = None,
    *,
    study: str | PathLike[str] | None = None,
) -> Path:
    """Write a page in HTML on a folder that :func:`generate` wrote, with everything in it.

    Parameters
    ----------
    output
        The file; by default ``report.html`` in the folder's ``build-report``.
    study
        The folder of :func:`study`, whose results the page shows, too.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    rbdhw.errors.InputError
        The folder is not complete, the file cannot be written, or Matplotlib is missing.
    """
    from rbdhw.page.write import write_report

    paths = [None if path is None else Path(path) for path in (output, study)]
    return write_report(Path(folder), *paths)


def simulate(
    folder: str | PathLike[str],
    tasks: int = 1000,
    seed: int = 0,
    *,
    bulk: bool = False,
    confidence: float | None = None,
) -> results.Simulated:
    """Run random tasks through the Verilog of a folder in Verilator, and compare each bit with the model.

    Parameters
    ----------
    folder
        A folder with an accelerator.
    tasks, seed
        The number of tasks, and the seed of the tasks and of the pauses on the streams.
    bulk
        Whether to use a bench in C++, which is faster than cocotb.
    confidence
        The confidence, such as 0.999, for which further tasks on the model bound the share with errors beyond
        the limit.

    Returns
    -------
    Simulated
        The data of ``rbdhw simulate --json``; ``ok`` says that nothing was found wrong.

    Raises
    ------
    rbdhw.errors.InputError
        The folder is not complete, or a package is missing.
    """
    from rbdhw.front.calls import simulate_folder

    return simulate_folder(Path(folder), tasks, seed, bulk=bulk, confidence=confidence)


def study(
    urdf: str | PathLike[str],
    folder: str | PathLike[str],
    *,
    widths: str | Iterable[int] | None = None,
    formats: str | Iterable[str] | None = None,
    budgets: str | Iterable[float] | None = None,
    exact: str | Iterable[str] | None = None,
    task: str = "track",
    seconds: float = 4.0,
    workers: int | None = None,
    cluster: str | None = None,
    plot: bool = False,
    **options: Any,
) -> results.Studied:
    """Judge number formats by a controller in a closed loop, beside double precision.

    Parameters
    ----------
    urdf
        The robot description; ``track`` and ``reach`` want a fixed base, and joints with as many coordinates
        as degrees of freedom.
    folder
        Where results are kept; what is there is not computed again.
    widths, formats, budgets
        The candidates: operand widths of multipliers, uniform formats such as ``"Q8.10"`` or grids of them,
        error budgets.
    exact
        Functions that are in double precision whatever the candidate, such as ``"step"``.
    task, seconds
        What the loop does, ``track`` or ``reach``, or a loop ``MODULE:FUNCTION`` of your own, and for how
        long.
    workers, cluster
        The number of processes, or the address of a Dask scheduler.
    plot
        Draw ``study.png`` and ``study.svg``, too.
    options
        As for :func:`generate`, such as ``frames`` that are tracked; ``functions`` for a loop of your own.

    Returns
    -------
    Studied
        The data of ``rbdhw study --json``.

    Raises
    ------
    rbdhw.errors.InputError
        The robot, an option or a candidate is not supported, no candidate can be built, nobody answers at the
        cluster's address, or the folder has results of another version.
    """
    from rbdhw.front.calls import study_folder, study_settings
    from rbdhw.options.arguments import asked_build

    settings = study_settings(
        widths, formats, budgets, exact, task, seconds, workers=workers, cluster=cluster
    )
    functions = settings.task.functions(options.pop("functions", None), bool(options.get("frames")))
    asked = asked_build(**options, functions=functions)
    return study_folder(Path(urdf), Path(folder), *asked, settings, draws=plot)
