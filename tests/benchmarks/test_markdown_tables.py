"""Marked tables in documents: reading, replacing, and refusals of wrong marks."""

import pytest

from benchmarks.markdown_tables import END, load, markdown, replace_table, tables
from rbdhw.errors import InputError

TEXT = """# Title

<!-- bench: one -->
| robot | id |
| --- | --- |
| toy | 13 / 7 |
<!-- end -->
between  \u2028 lines
<!-- bench: two -->
<!-- end -->

last line without an end"""


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "document.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_tables_by_name(document):
    assert tables(document) == {"one": (("robot", "id"), ("---", "---"), ("toy", "13 / 7")), "two": ()}


def test_a_table_is_replaced_and_all_else_stays(document):
    table = markdown(("a", "b"), [("1", "2"), ("", "4")])
    assert table == "| a | b |\n| --- | --- |\n| 1 | 2 |\n|  | 4 |"
    replace_table(document, "two", table)
    assert load(document) == TEXT.replace("two -->\n", f"two -->\n{table}\n")
    assert tables(document)["two"] == (("a", "b"), ("---", "---"), ("1", "2"), ("", "4"))
    replace_table(document, "two", "| new |")
    replace_table(document, "one", "| other |")
    start, _, rest = TEXT.partition("| robot")
    expected = start + "| other |\n<!-- end -->" + rest.partition("<!-- end -->")[2]
    assert load(document) == expected.replace("two -->\n", "two -->\n| new |\n")


def test_a_table_that_is_not_there(document):
    with pytest.raises(InputError) as refusal:
        replace_table(document, "three", "| a |")
    expected = "no table 'three'; expected the line '<!-- bench: three -->'"
    assert str(refusal.value) == f"{document}: {expected}"
    assert load(document) == TEXT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TEXT.replace(END, "", 1), f"table 'one' (line 3): has no end; expected '{END}' below it"),
        (TEXT.replace("two", "one"), "table 'one': is marked twice; expected one of each name"),
        ("<!-- bench: a -->", f"table 'a' (line 1): has no end; expected '{END}' below it"),
    ],
)
def test_marks_that_are_amiss(document, text, reason):
    document.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refusal:
        tables(document)
    assert str(refusal.value) == f"{document}, {reason}"


def test_a_document_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError) as refusal:
        tables(tmp_path / "none.md")
    assert str(refusal.value) == f"{tmp_path / 'none.md'}: no such file; expected a Markdown document"
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError) as refusal:
        tables(tmp_path / "binary.md")
    assert str(refusal.value) == f"{tmp_path / 'binary.md'}: is no UTF-8 text; expected a Markdown document"
