"""Which degrees of freedom of a tree are eliminated together, so that few reciprocals wait for each other.

A degree of freedom and the ones above it on its line go together with one reciprocal. At a root, two groups
may go in one step, when the second does not wait for the reciprocal of the first. A group can go once all
that hangs from it is done.

The trees here are elimination trees: ``parents`` of a matrix says for each index the next one whose entries
change when it is eliminated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from rbdhw.scalar import Scalar

ROOT = -1

Group = tuple[int, ...]
"""Degrees of freedom eliminated together, from the one farthest from the root on."""

Step = tuple[Group, ...]
"""One group; or two at a root, in the order in which they go."""

HURRY = 24
"""How many more products it is worth to have a step on a longest chain end two products earlier."""

JOINED = 16
"""About how many products more two groups in one step take than one after the other."""


def elimination_parents(matrix: Sequence[Sequence[Scalar]]) -> list[int]:
    """For each index the largest smaller one that it is coupled with when its turn comes, or -1.

    Indices go from the last to the first. Entries that are the float 0.0 couple nothing, but two indices
    coupled with a third that goes before them are coupled from then on. The entries that an elimination
    changes all lie between an index and its ancestors (Liu, "The role of elimination trees in sparse
    factorization", 1990).

    Parameters
    ----------
    matrix
        Rows of a symmetric matrix; those entries [i][j] with j < i are read.
    """
    coupled = [{j for j, entry in enumerate(row[:i]) if not _vanishes(entry)} for i, row in enumerate(matrix)]
    parents = []
    for above in reversed(coupled):
        parent = max(above, default=ROOT)
        parents.append(parent)
        if parent != ROOT:
            coupled[parent] |= above - {parent}
    return parents[::-1]


def _vanishes(entry: Scalar) -> bool:
    return isinstance(entry, float) and entry == 0.0


def groups(
    parents: Sequence[int], done: Collection[int], largest: int, steady: Collection[int] = ()
) -> list[Step]:
    """All degrees of freedom but those that are ``done``, in steps of few groups, in an order of elimination.

    The longest chain of steps from a leaf to a root is as short as it can be; apart from it, they multiply
    as little as they can.

    Parameters
    ----------
    parents
        For each degree of freedom the one before it toward the root, a smaller number, or -1.
    done
        Those that are eliminated already, all that hangs from them included.
    largest
        The most degrees of freedom in a group.
    steady
        Those whose entries vary little. A whole group of them at a root goes before the group that hangs
        from it, in one step; otherwise only a root that stays alone shares its step with a group.
    """
    search = _OrderSearch(parents, done, largest, frozenset(steady))
    found = []
    waiting = [(root, search.longest) for root in search.children[ROOT]]
    while waiting:
        i, allowed = waiting.pop()
        found.append(search.step(i, allowed))
        waiting += [(x, allowed - 1) for x in search.hanging(found[-1])]
    return found[::-1]


def awaited_bodies(parents: Sequence[int], order: Sequence[Step]) -> list[Group]:
    """For each step the degrees of freedom whose entries are to be there soon after its reciprocal.

    These are those of the step that comes after it, if both are on a longest chain and few limbs meet there:
    such entries take a product more each.
    """
    step_of = {i: k for k, step in enumerate(order) for group in step for i in group}
    after = [step_of.get(parents[min(min(group) for group in step)]) for step in order]
    up, down = [1] * len(order), [0] * len(order)
    for k, then in enumerate(after):
        if then is not None:
            up[then] = max(up[then], up[k] + 1)
    for k, then in reversed(list(enumerate(after))):
        if then is not None:
            down[k] = down[then] + 1
    urgent = [a + b == max(up) for a, b in zip(up, down, strict=True)]
    limbs = Counter(then for then, hurry in zip(after, urgent, strict=True) if hurry)
    found: list[Group] = []
    for then, hurry in zip(after, urgent, strict=True):
        members = () if then is None else tuple(i for group in order[then] for i in group)
        entries = len(members) * (len(members) + 1) // 2
        found.append(members if hurry and limbs[then] * entries <= HURRY else ())
    return found


class _OrderSearch:
    """What there is to choose from, and how good it is."""

    def __init__(
        self, parents: Sequence[int], done: Collection[int], largest: int, steady: frozenset[int]
    ) -> None:
        self.children: dict[int, list[int]] = {i: [] for i in range(ROOT, len(parents))}
        self._largest, self._steady = largest, steady
        self._above, self._below = [0] * len(parents), [1] * len(parents)
        for i, parent in enumerate(parents):
            if i not in done:
                self.children[parent].append(i)
            if parent != ROOT:
                self._above[i] = self._above[parent] + 1
        for i, parent in reversed(list(enumerate(parents))):
            if parent != ROOT:
                self._below[parent] += self._below[i]
        self._length = [0] * len(parents)
        waiting = [i for i in reversed(range(len(parents))) if i not in done]
        for i in waiting:
            self._length[i] = min(self._chain(step) for step in self._candidates(i))
        self._best: dict[tuple[int, int], tuple[int, Step]] = {}
        for i in waiting:
            for allowed in range(self._length[i], self.longest + 1):
                self._best[i, allowed] = self._least(i, allowed)

    @property
    def longest(self) -> int:
        """The longest chain of steps, if each is as short as it can be."""
        return max((self._length[root] for root in self.children[ROOT]), default=0)

    def step(self, top: int, allowed: int) -> Step:
        """What goes last of a subtree where that multiplies least and its chain is no longer than allowed."""
        return self._best[top, allowed][1]

    def hanging(self, step: Step) -> list[int]:
        """The children of a step."""
        own = [i for group in step for i in group]
        return [child for i in own for child in self.children[i] if child not in own]

    def _least(self, top: int, allowed: int) -> tuple[int, Step]:
        """How many products more than its members one by one a subtree takes at least, and its last step."""
        fitting = [step for step in self._candidates(top) if self._chain(step) <= allowed]
        works = [self._work(step, allowed) for step in fitting]
        least = min(works)
        return least, fitting[works.index(least)]

    def _chain(self, step: Step) -> int:
        """The most steps one after the other up to and with this one."""
        return 1 + max((self._length[i] for i in self.hanging(step)), default=0)

    def _work(self, step: Step, allowed: int) -> int:
        """About how many products more a step and all that hangs from it take."""
        total = sum(self._best[i, allowed - 1][0] for i in self.hanging(step))
        for group in step:  # for each of its pairs, a product in every row of L and of the inverse
            touched = self._above[group[-1]] + self._below[group[-1]] + 4
            total += len(group) * (len(group) - 1) // 2 * touched
        return total + JOINED * (len(step) - 1)

    def _candidates(self, top: int) -> list[Step]:
        """The steps that may be taken with this one nearest the root."""
        uppers = self._lines(top)
        steps: list[Step] = [(group,) for group in uppers]
        if top not in self.children[ROOT] or self._largest == 1:
            return steps
        for upper in uppers:
            lowers = [group for child in self.children[upper[0]] for group in self._lines(child)]
            if len(upper) == 1:
                steps += [(lower, upper) for lower in lowers]
            elif self._steady.issuperset(upper):
                steps += [(upper, lower) for lower in lowers]
        return steps

    def _lines(self, top: int) -> list[Group]:
        """The groups with this one nearest the root."""
        last: list[Group] = [(top,)]
        found = last
        for _ in range(self._largest - 1):
            last = [(child, *group) for group in last for child in self.children[group[0]]]
            found = found + last
        return found
