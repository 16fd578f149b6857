"""Toggle counts in the Switching Activity Interchange Format (SAIF), as Verilator writes it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_INSTANCE = re.compile(r"\(INSTANCE (\S+)")
_NET = re.compile(r"\((\S+) .*\(TC (\d+)\)\)")


@dataclass(frozen=True)
class Activity:
    """The bits of the signals of instances, and how often they changed; instances by their paths."""

    bits: Counter[tuple[str, ...]]
    toggles: Counter[tuple[str, ...]]

    def within(self, path: tuple[str, ...]) -> tuple[int, int]:
        """Return the bits and toggles of an instance and of all instances in it."""
        inside = [name for name in self.bits if name[: len(path)] == path]
        return sum(self.bits[name] for name in inside), sum(self.toggles[name] for name in inside)

    def children(self, path: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return the instances directly in an instance, in the order of the file."""
        depth = len(path) + 1
        return list(dict.fromkeys(name[:depth] for name in self.bits if name[:-1][: len(path)] == path))


def read_saif(file: Path) -> Activity:
    """Return the toggle counts in a file, which has an instance, a net or the end of one on each line."""
    bits: Counter[tuple[str, ...]] = Counter()
    toggles: Counter[tuple[str, ...]] = Counter()
    path: list[str] = []  # an empty name stands for a list of nets
    with file.open(encoding="utf-8") as lines:
        for line in map(str.strip, lines):
            if instance := _INSTANCE.match(line):
                path.append(instance[1])
            elif net := _NET.match(line):
                name = tuple(filter(None, path))
                bits[name] += 1
                toggles[name] += int(net[2])
            elif line == "(NET":
                path.append("")
            elif line == ")" and path:
                path.pop()
    return Activity(bits, toggles)
