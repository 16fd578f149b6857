"""Folders in which tools keep their results."""

import pytest

from rbdhw.errors import InputError
from rbdhw.runtime.build_folder import TAG, is_build_folder, make_build_folder


def test_a_new_folder_and_an_empty_one_are_marked(tmp_path):
    (tmp_path / "build-empty").mkdir()
    for name in ("new", "empty"):
        folder = make_build_folder(tmp_path, name)
        assert folder == tmp_path / f"build-{name}"
        assert is_build_folder(folder)
        assert (folder / TAG).read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
        (folder / "result").write_text("")
        assert make_build_folder(tmp_path, name) == folder
        assert sorted(path.name for path in folder.iterdir()) == [TAG, "result"]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("kind", ["folder", "file", "link", "cache of another program"])
def test_what_others_made_is_refused_and_stays(tmp_path, kind):
    folder = tmp_path / "build-sim"
    if kind == "file":
        folder.write_text("mine")
    elif kind == "link":
        make_build_folder(tmp_path, "there").rename(tmp_path / "there")
        folder.symlink_to("there")
    else:
        folder.mkdir()
        name = "mine" if kind == "folder" else TAG
        (folder / name).write_text("Signature: 8a477f597d28d172789f06886806bc55\n# by cargo\n")
    before = sorted(tmp_path.rglob("*"))
    assert not is_build_folder(folder)
    with pytest.raises(InputError) as refusal:
        make_build_folder(tmp_path, "sim")
    assert str(refusal.value) == (
        f"{folder}: there is something of this name that rbdhw did not make; "
        "expected a name that is free; move it away"
    )
    assert sorted(tmp_path.rglob("*")) == before
