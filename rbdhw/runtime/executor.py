"""Work in processes of this machine or of a Dask cluster: results are stored, and lost work is done again."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rbdhw.errors import InputError, InternalError
from rbdhw.runtime.extras import check_installed
from rbdhw.runtime.files import replace_file

ATTEMPTS = 3
"""How often work is begun whose worker ends before it."""

PATIENCE = 10
"""Seconds in which a cluster must answer."""

PERIOD = 0.2
"""Seconds after which a cluster is asked what is done, and which workers are there."""

Work = Callable[[Any], Any]
"""A function at the top of a module. Its argument can be pickled, and its result is JSON if it is stored."""


class Store:
    """Results in a folder, a file for each, with the version of what they depend on."""

    def __init__(self, folder: Path, version: str) -> None:
        self._folder, self._version = folder, version

    def load(self, name: str) -> Any:
        """Return a stored result, or None; InputError if it is of another version, or damaged."""
        path = self._path(name)
        if not path.exists():
            return None
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            version, result = stored["version"], stored["result"]
        except (ValueError, KeyError, TypeError):
            raise InputError(str(path), "is damaged", "a stored result", "remove it") from None
        if version != self._version:
            expected = f"those of version {self._version}"
            raise InputError(str(path), f"is of version {version}", expected, "use another folder")
        return result

    def save(self, name: str, result: Any) -> None:
        """Store a result, whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with replace_file(self._path(name)) as made:
            text = json.dumps({"version": self._version, "result": result}, indent=1)
            made.write_text(text, encoding="utf-8")

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def execute(
    work: Work,
    jobs: Mapping[str, Any],
    *,
    cluster: str | None = None,
    workers: int | None = None,
    store: Store | None = None,
    told: Callable[[str, Any, int], None] = lambda _name, _result, _done: None,
    warn: Callable[[Sequence[str]], None] = lambda _lines: None,
    keep_errors: bool = False,
) -> dict[str, Any]:
    """Return the results of all jobs by name; they do not depend on where work is done.

    Parameters
    ----------
    work
        Computes a job.
    cluster
        The address of a Dask scheduler; by default ``workers`` processes of this machine, one for each core.
    store
        Where results are kept; those that are there are not computed again.
    told
        Receives the name and the result of each job that is done, and how many are.
    warn
        Receives a line for each worker that ended before its work.
    keep_errors
        Whether an exception is the result of its job instead of an end to all; it is not stored.

    Raises
    ------
    InputError
        A stored result is of another version, or nobody answers at the address.
    InternalError
        The worker of a job ended :data:`ATTEMPTS` times.
    """
    stored = {name: store.load(name) for name in jobs} if store else {}
    results = {name: result for name, result in stored.items() if result is not None}
    waiting = {name: job for name, job in jobs.items() if name not in results}
    if waiting:
        executor = _on_cluster(cluster) if cluster else _in_processes(workers or os.cpu_count() or 1)
        with executor as run:
            for name, result, error in run(work, waiting, warn):
                if error is not None and not keep_errors:
                    raise error
                results[name] = result if error is None else error
                if store and error is None:
                    store.save(name, result)
                told(name, results[name], len(results))
    return {name: results[name] for name in jobs}


def execute_in_order(
    work: Work,
    jobs: Mapping[str, Any],
    cluster: str | None,
    progress: Callable[[str], None],
    warn: Callable[[Sequence[str]], None],
) -> list[Any]:
    """Return the results of all jobs; an exception is that of the first job that has one, as in a loop."""
    results = execute(
        work,
        jobs,
        cluster=cluster,
        told=lambda name, _, done: progress(f"{done} of {len(jobs)} done, last {name}"),
        warn=warn,
        keep_errors=True,
    )
    for result in results.values():
        if isinstance(result, BaseException):
            raise result
    return list(results.values())


Outcomes = Iterator[tuple[str, Any, BaseException | None]]
"""The name of each job that is done, with its result or an exception."""

Run = Callable[[Work, Mapping[str, Any], Callable[[Sequence[str]], None]], Outcomes]


@contextmanager
def _in_processes(workers: int) -> Iterator[Run]:
    yield lambda work, jobs, warn: _run_in_processes(work, jobs, warn, workers)


def _run_in_processes(
    work: Work, jobs: Mapping[str, Any], warn: Callable[[Sequence[str]], None], workers: int
) -> Outcomes:
    """Yield results as they come. Python ends all workers with one, so all that they did is begun again."""
    left = dict(jobs)
    for _ in range(ATTEMPTS):
        with ProcessPoolExecutor(min(workers, len(left)), multiprocessing.get_context("spawn")) as pool:
            futures = {pool.submit(work, job): name for name, job in left.items()}
            running: list[str] = []
            for future in as_completed(futures):
                name = futures[future]
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    running.append(name)
                    continue
                del left[name]
                yield name, None if error else future.result(), error
        if not left:
            return
        warn([f"a worker ended before its work, which is begun again: {', '.join(running)}"])
    for name in left:
        yield name, None, InternalError(f"{name}: workers ended {ATTEMPTS} times")


@contextmanager
def _on_cluster(address: str) -> Iterator[Run]:
    """Connect to a scheduler, which gives the work of a lost worker to another one by itself."""
    check_installed("distributed")
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        reason = f"nobody answers at {address} ({str(error).splitlines()[0]})"
        raise InputError("cluster", reason, "the address of a Dask scheduler") from None
    with client:
        yield lambda work, jobs, warn: _run_on(client, work, jobs, warn)


def _run_on(
    client: Any, work: Work, jobs: Mapping[str, Any], warn: Callable[[Sequence[str]], None]
) -> Outcomes:
    from distributed import KilledWorker

    futures = {client.submit(work, job, pure=False): name for name, job in jobs.items()}
    names = {future.key: name for future, name in futures.items()}
    busy: dict[str, list[str]] = {}
    while futures:
        time.sleep(PERIOD)
        now = {
            worker: [names[key] for key in keys if key in names]
            for worker, keys in client.processing().items()
        }
        for worker in busy.keys() - now.keys():
            lost = ", ".join(busy[worker]) or "none"
            warn([f"worker {worker} ended; its work is begun again elsewhere: {lost}"])
        busy = now
        for future in [future for future in futures if future.done()]:
            name, error = futures.pop(future), future.exception()
            if isinstance(error, KilledWorker):
                error = InternalError(f"{name}: {error}")
            yield name, None if error else future.result(), error
