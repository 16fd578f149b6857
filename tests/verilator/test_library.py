"""Verilator's library is compiled once for all designs, whoever else compiles it, wherever it may be kept."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from rbdhw.verilator import bulk, library, simulator
from rbdhw.verilator.library import ARCHIVE, find_library
from rbdhw.verilator.tools import SimulationError, Tools, find_tools

OPTIONS = ("--cc", "--no-timing")


@pytest.fixture
def user_cache(tmp_path, monkeypatch):
    """An empty cache of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user's cache"))
    return tmp_path / "user's cache" / "rbdhw"


@pytest.fixture
def compiled(monkeypatch):
    """The folders in which the library was compiled, into an archive of the folder's name."""
    folders = []

    def written(_tools, _options, work, _logs):
        folders.append(work)
        (work / ARCHIVE).write_text(work.name)
        return work / ARCHIVE

    monkeypatch.setattr(library, "_compile", written)
    return folders


@pytest.fixture
def objects(monkeypatch):
    """The objects of the library that each run of make compiled."""
    runs = []
    run_make = Tools.run_make

    def recorded(tools, folder, arguments, log):
        run_make(tools, folder, arguments, log)
        runs.append({path.name for path in folder.glob("verilated*.o")})

    monkeypatch.setattr(Tools, "run_make", recorded)
    return runs


def kept_in(folder):
    """Return the files in a folder, without their digests."""
    return [path for path in folder.iterdir() if path.suffix != ".sha256"]


@pytest.mark.verify
def test_a_second_design_is_linked_with_the_library_of_the_first(
    rail_folder, faulty_folder, tmp_path, user_cache, objects
):
    for folder in (rail_folder, faulty_folder):
        assert bulk.build(folder, tmp_path / "simulators").exists()
    assert objects == [set(library._OBJECTS), set(), set()]
    assert sorted(path.suffix for path in user_cache.iterdir()) == [".a", ".sha256"]


def test_a_design_is_linked_with_the_library_that_is_there(rail_folder, tmp_path, objects):
    """Another simulator of the tests has compiled it, or this one does."""
    find_library(find_tools(), simulator._OPTIONS, tmp_path)
    objects.clear()
    assert bulk.build(rail_folder, tmp_path / "simulators").exists()
    assert objects == [set()]


def test_the_archive_is_found_again_by_what_it_is_made_from(tmp_path, user_cache, compiled, monkeypatch):
    tools = find_tools()
    first = find_library(tools, OPTIONS, tmp_path)
    assert first.parent == user_cache
    assert find_library(tools, OPTIONS, tmp_path / "other") == first
    assert len(compiled) == 1
    others = {first, find_library(tools, (*OPTIONS, "--trace"), tmp_path)}
    others.add(find_library(replace(tools, compiler=("/bin/echo",)), OPTIONS, tmp_path))
    monkeypatch.setenv("CXXFLAGS", "-g")
    others.add(find_library(tools, OPTIONS, tmp_path))
    assert len(others) == len(compiled) == 4


def test_two_that_compile_at_once_both_find_a_whole_archive(tmp_path, user_cache, compiled, monkeypatch):
    tools, alone, archives = find_tools(), library._compile, []

    def overtaken(*arguments):
        monkeypatch.setattr(library, "_compile", alone)
        archives.append(find_library(tools, OPTIONS, tmp_path))
        return alone(*arguments)

    monkeypatch.setattr(library, "_compile", overtaken)
    archives.append(find_library(tools, OPTIONS, tmp_path))
    assert len(compiled) == 2
    assert archives[0] == archives[1]
    assert kept_in(user_cache) == [archives[0]]
    assert archives[0].read_text() == compiled[-1].name


@pytest.mark.parametrize("cache", ["file/cache", "relative", ""])
def test_without_a_cache_of_the_user_it_is_kept_in_the_folder(tmp_path, compiled, monkeypatch, cache):
    (tmp_path / "file").write_text("no folder")
    if cache:
        monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / cache) if "/" in cache else cache)
    else:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))
    archives = [find_library(find_tools(), OPTIONS, tmp_path / "build") for _ in range(2)]
    assert archives[0] == archives[1]
    assert kept_in(tmp_path / "build") == [archives[0]]
    assert len(compiled) == 1


def test_nothing_is_kept_of_a_library_that_does_not_compile(tmp_path, user_cache):
    tools = replace(find_tools(), compiler=("/bin/false",))
    with pytest.raises(SimulationError) as failure:
        find_library(tools, OPTIONS, tmp_path)
    assert f"its log is {tmp_path / 'make.log'}" in str(failure.value)
    assert kept_in(user_cache) == []
