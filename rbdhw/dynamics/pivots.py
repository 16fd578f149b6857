"""Which degrees of freedom of a tree are eliminated together, so that few reciprocals wait for each other.

A degree of freedom and its parent go together with one reciprocal; at a root, so does one more. A group can
go once all that hangs from it is done.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

ROOT = -1

Group = tuple[int, ...]
"""Degrees of freedom eliminated together, from the one farthest from the root on."""


def groups(parents: Sequence[int], done: Collection[int]) -> list[Group]:
    """All degrees of freedom but those that are ``done``, in groups, in an order of elimination.

    The longest chain of groups from a leaf to a root is as short as it can be; apart from it, groups are as
    small as they can be, which multiplies least.

    Parameters
    ----------
    parents
        For each degree of freedom the one before it toward the root, a smaller number, or -1.
    done
        Those that are eliminated already, all that hangs from them included.
    """
    children: dict[int, list[int]] = {i: [] for i in range(ROOT, len(parents))}
    for i, parent in enumerate(parents):
        if i not in done:
            children[parent].append(i)
    length = [0] * len(parents)
    for i in (i for i in reversed(range(len(parents))) if i not in done):
        length[i] = min(_chain(children, group, length) for group in _candidates(children, i))
    longest = max((length[root] for root in children[ROOT]), default=0)
    found = []
    waiting = [(root, longest) for root in children[ROOT]]
    while waiting:
        i, allowed = waiting.pop()
        fitting = (g for g in _candidates(children, i) if _chain(children, g, length) <= allowed)
        found.append(min(fitting, key=len))
        waiting += [(x, allowed - 1) for x in _hanging(children, found[-1])]
    return found[::-1]


def _candidates(children: dict[int, list[int]], top: int) -> list[Group]:
    """The groups that may be eliminated with this one nearest the root."""
    pairs = [(child, top) for child in children[top]]
    threes = [(leaf, *pair) for pair in pairs for leaf in children[pair[0]] if top in children[ROOT]]
    return [(top,), *pairs, *threes]


def _chain(children: dict[int, list[int]], group: Group, length: Sequence[int]) -> int:
    """The most groups one after the other up to and with this one."""
    return 1 + max((length[i] for i in _hanging(children, group)), default=0)


def _hanging(children: dict[int, list[int]], group: Group) -> list[int]:
    """The children of a group."""
    return [child for i in group for child in children[i] if child not in group]
