"""Untrusted npz files that can be read; tests/cli/test_bad_input.py has those that cannot."""

import io
import zipfile

import numpy as np
import pytest

from rbdhw.runtime.archive import read_archive

Q = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    "array",
    [Q, np.asfortranarray(Q), Q.astype(">f4"), Q.astype(np.int16), Q > 2.0, Q[:0], np.float64(3.0)],
    ids=["doubles", "Fortran's order", "big-endian singles", "integers", "booleans", "no rows", "a number"],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_numbers(tmp_path, save, array):
    save(tmp_path / "in.npz", q=array)
    arrays, others = read_archive(tmp_path / "in.npz", ("q", "v"))
    assert (set(arrays), others) == ({"q"}, ())
    assert arrays["q"].dtype == np.asarray(array).dtype
    np.testing.assert_array_equal(arrays["q"], array)


def test_zeros_in_the_smallest_form(tmp_path):
    """A compression of a thousand to one must not be refused by the check of sizes."""
    np.savez_compressed(tmp_path / "in.npz", q=np.zeros((1_000_000, 2)))
    assert read_archive(tmp_path / "in.npz", ("q",))[0]["q"].shape == (1_000_000, 2)


def archive(file, **members):
    with zipfile.ZipFile(file, "w") as written:
        for name, content in members.items():
            written.writestr(name, content)


def npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def test_a_header_that_python_2_wrote(tmp_path):
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 2L), }\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + Q.tobytes()
    archive(tmp_path / "in.npz", **{"q.npy": content})
    np.testing.assert_array_equal(read_archive(tmp_path / "in.npz", ("q",))[0]["q"], Q)


def test_members_that_nobody_asks_for_are_not_read(tmp_path):
    members = {"q.npy": npy(Q), "../x.npy": b"damaged", "a\nb": b"", "readme.txt": b"text"}
    archive(tmp_path / "in.npz", **members)
    assert read_archive(tmp_path / "in.npz", ("q",))[1] == ("../x", "a\nb", "readme.txt")
