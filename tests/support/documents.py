"""The README, the changelog and the pages of the documentation."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
CHANGELOG = ROOT / "CHANGELOG.md"
PAGES = (README, CHANGELOG, *sorted((ROOT / "docs").glob("*.md")))

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def name(page: Path) -> str:
    """The page's path within the repository."""
    return page.relative_to(ROOT).as_posix()


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[tuple[str, str]]:
    """The page's blocks of code in order: language and text."""
    return _BLOCK.findall(text(page))


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return _FENCE.sub("", text(page))


def client_of(folder: Path) -> Any:
    """Return the client of the page on packets, of a design."""
    page, names = ROOT / "docs" / "interface.md", dict[str, Any]()
    source = next(code for language, code in blocks(page) if language == "python")
    exec(compile(source, str(page), "exec"), names)
    return names["Client"](json.loads((folder / "manifest.json").read_text()))
