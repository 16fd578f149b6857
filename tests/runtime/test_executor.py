"""Work in processes and on a cluster: equal results, lost work that is done again, and what is stored."""

import json

import pytest

from rbdhw.errors import InputError, InternalError
from rbdhw.runtime.executor import Store, execute, execute_in_order
from tests.support import jobs

NAMES = {"one": 1, "two": 2, "three": 3}
SQUARES = {"one": 1, "two": 4, "three": 9}


def test_results_are_in_the_order_of_the_jobs():
    told = []
    assert execute(jobs.square, NAMES, workers=2, told=lambda *done: told.append(done)) == SQUARES
    assert {name: result for name, result, _ in told} == SQUARES
    assert [done for *_, done in told] == [1, 2, 3]


def test_a_killed_worker_is_named_and_its_work_done_again(tmp_path):
    lines = []
    work = {"safe": (3, None), "fatal": (5, str(tmp_path / "killed"))}
    assert execute(jobs.dies_once, work, workers=1, warn=lines.extend) == {"safe": 9, "fatal": 25}
    assert len(lines) == 1
    assert "a worker ended before its work, which is begun again" in lines[0]
    assert "fatal" in lines[0]


def test_work_that_always_kills_its_worker_is_given_up():
    with pytest.raises(InternalError, match="fatal: workers ended 3 times"):
        execute(jobs.dies, {"fatal": 0}, workers=1)


def test_errors_of_work_are_raised():
    with pytest.raises(ZeroDivisionError):
        execute(jobs.inverse, {"zero": 0}, workers=1)


def test_errors_may_be_results(tmp_path):
    store = Store(tmp_path, "1")
    results = execute(jobs.inverse, {"zero": 0, "two": 2}, workers=1, keep_errors=True, store=store)
    assert isinstance(results["zero"], ZeroDivisionError)
    assert results["two"] == 0.5
    assert [file.name for file in tmp_path.iterdir()] == ["two.json"]


def test_what_is_stored_is_not_computed_again(tmp_path):
    store = Store(tmp_path, "1")
    assert execute(jobs.square, {"one": 1, "two": 2}, workers=1, store=store) == {"one": 1, "two": 4}
    assert json.loads((tmp_path / "two.json").read_text()) == {"version": "1", "result": 4}
    (tmp_path / "two.json").write_text(json.dumps({"version": "1", "result": 5}))
    told = []
    results = execute(
        jobs.square, NAMES, workers=1, store=store, told=lambda name, _, done: told.append((name, done))
    )
    assert (results, told) == ({"one": 1, "two": 5, "three": 9}, [("three", 3)])


def test_results_in_order_and_the_first_error():
    told, lines = [], []
    assert execute_in_order(jobs.square, NAMES, None, told.append, lines.extend) == [1, 4, 9]
    assert (len(told), lines) == (3, [])
    with pytest.raises(ZeroDivisionError):
        execute_in_order(jobs.inverse, {"two": 2, "zero": 0, "none": None}, None, told.append, lines.extend)


@pytest.mark.parametrize(
    ("text", "reason"),
    [('{"version": "0", "result": 1}', "is of version 0"), ("[]", "is damaged"), ("{", "is damaged")],
)
def test_stored_results_that_are_refused(tmp_path, text, reason):
    (tmp_path / "one.json").write_text(text)
    with pytest.raises(InputError) as refusal:
        execute(jobs.square, NAMES, workers=1, store=Store(tmp_path, "1"))
    assert (refusal.value.where, refusal.value.reason) == (str(tmp_path / "one.json"), reason)


def test_an_absent_cluster(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("rbdhw.runtime.executor.PATIENCE", 1)
    with pytest.raises(InputError) as refusal:
        execute(jobs.square, NAMES, cluster="tcp://127.0.0.1:1")
    assert refusal.value.where == "cluster"
    assert "nobody answers at tcp://127.0.0.1:1" in refusal.value.reason


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_of_two_workers_of_which_one_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    lines = []
    work = {"safe": (3, None), "fatal": (5, str(tmp_path / "killed"))}
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        assert execute(jobs.square, NAMES, cluster=address) == SQUARES
        results = execute(jobs.dies_once, work, cluster=address, warn=lines.extend)
    assert results == {"safe": 9, "fatal": 25}
    assert any("ended; its work is begun again elsewhere: fatal" in line for line in lines)
