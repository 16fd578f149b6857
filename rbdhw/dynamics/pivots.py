"""Group the degrees of freedom of a tree for elimination, so that few reciprocals wait for each other.

A degree of freedom and its next ancestors can be eliminated together, with one reciprocal. At a root, two
groups can be eliminated in one step if the second does not need the reciprocal of the first. A group can be
eliminated when all its descendants are.

The trees here are elimination trees: ``parents`` of a matrix gives for each index the next one whose entries
change when it is eliminated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from rbdhw.scalar import Scalar, is_zero

ROOT = -1

Group = tuple[int, ...]
"""Degrees of freedom eliminated together, the one farthest from the root first."""

Step = tuple[Group, ...]
"""One group, or two at a root, in the order of elimination."""

CHAIN_WEIGHT = 24
"""The number of extra products worth spending to end a step on a longest chain two products earlier."""

PAIR_PRODUCTS = 16
"""The approximate number of extra products of two groups in one step, compared with one after the other."""


def elimination_parents(matrix: Sequence[Sequence[Scalar]]) -> list[int]:
    """Return for each index its parent in the elimination tree, or -1.

    Indices are eliminated from the last to the first. The parent of an index is the largest smaller index
    coupled with it at its elimination. Entries that are the float 0.0 are not coupled, but two indices
    coupled with a third that is eliminated before them are coupled from then on. The entries that an
    elimination changes all lie between an index and its ancestors (Liu, "The role of elimination trees in
    sparse factorization", 1990). Entries [i][j] of the symmetric ``matrix`` with j < i are read.
    """
    coupled = [{j for j, entry in enumerate(row[:i]) if not is_zero(entry)} for i, row in enumerate(matrix)]
    parents = []
    for above in reversed(coupled):
        parent = max(above, default=ROOT)
        parents.append(parent)
        if parent != ROOT:
            # An elimination couples all these indices with each other. The parent is eliminated next of them
            # and couples the rest, so it suffices to tell it.
            coupled[parent] |= above - {parent}
    return parents[::-1]


def groups(
    parents: Sequence[int],
    done: Collection[int],
    largest: int,
    steady: Collection[int] = (),
    apart: Collection[int] = (),
) -> list[Step]:
    """Order the elimination of all degrees of freedom not in ``done``, in steps of one or two groups.

    The longest chain of steps from a leaf to a root is as short as possible. Among such orders, the number
    of products is as small as possible.

    ``parents`` has for each degree of freedom its parent in the tree, a smaller number, or -1. Those that are
    ``done`` are eliminated already, together with their descendants. ``largest`` is the most degrees of
    freedom in a group. Entries of ``steady`` ones vary little: a whole group of them at a root goes before
    the group below it, in one step; otherwise only a root that is alone in its group shares its step. Those
    of ``apart`` are in no group with others than these, and go after all below them.
    """
    search = _OrderSearch(parents, done, largest, frozenset(steady), frozenset(apart))
    steps = []
    waiting = [(root, search.longest) for root in search.children[ROOT]]
    while waiting:
        i, allowed = waiting.pop()
        steps.append(search.step(i, allowed))
        waiting += [(x, allowed - 1) for x in search.children_of(steps[-1])]
    return steps[::-1]


def awaited_bodies(parents: Sequence[int], order: Sequence[Step]) -> list[Group]:
    """Return for each step the degrees of freedom whose entries must be ready soon after its reciprocal.

    These are the members of the next step, if both steps are on a longest chain and few limbs meet there;
    each of their entries costs one more product.
    """
    step_of = {i: k for k, step in enumerate(order) for group in step for i in group}
    after = [step_of.get(parents[min(min(group) for group in step)]) for step in order]
    up, down = [1] * len(order), [0] * len(order)
    for k, following in enumerate(after):
        if following is not None:
            up[following] = max(up[following], up[k] + 1)
    for k, following in reversed(list(enumerate(after))):
        if following is not None:
            down[k] = down[following] + 1
    # `up` counts the steps that end with this one and `down` those after it: together the longest chain
    # through it.
    urgent = [a + b == max(up) for a, b in zip(up, down, strict=True)]
    limbs = Counter(following for following, on_chain in zip(after, urgent, strict=True) if on_chain)
    awaited: list[Group] = []
    for following, on_chain in zip(after, urgent, strict=True):
        members = () if following is None else tuple(i for group in order[following] for i in group)
        entries = len(members) * (len(members) + 1) // 2
        awaited.append(members if on_chain and limbs[following] * entries <= CHAIN_WEIGHT else ())
    return awaited


class _OrderSearch:
    """The candidate steps for each subtree, and the best of them for each allowed length of its chain."""

    def __init__(
        self,
        parents: Sequence[int],
        done: Collection[int],
        largest: int,
        steady: frozenset[int],
        apart: frozenset[int],
    ) -> None:
        self.children: dict[int, list[int]] = {i: [] for i in range(ROOT, len(parents))}
        self._largest, self._steady, self._apart = largest, steady, apart
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
        # Only on the longest chain must steps be short. Elsewhere a longer chain saves products, so there is
        # a best step for each length that is allowed.
        self._best: dict[tuple[int, int], tuple[int, Step]] = {}
        for i in waiting:
            for allowed in range(self._length[i], self.longest + 1):
                self._best[i, allowed] = self._least(i, allowed)

    @property
    def longest(self) -> int:
        """The length of the longest chain of steps, if every chain is as short as possible."""
        return max((self._length[root] for root in self.children[ROOT]), default=0)

    def step(self, top: int, allowed: int) -> Step:
        """Return the last step of a subtree in the order with the fewest products and the allowed chain."""
        return self._best[top, allowed][1]

    def children_of(self, step: Step) -> list[int]:
        """Return the children of a step's members that are not members."""
        members = [i for group in step for i in group]
        return [child for i in members for child in self.children[i] if child not in members]

    def _least(self, top: int, allowed: int) -> tuple[int, Step]:
        """Return the fewest extra products of a subtree, against single eliminations, and its last step."""
        fitting = [step for step in self._candidates(top) if self._chain(step) <= allowed]
        works = [self._work(step, allowed) for step in fitting]
        least = min(works)
        return least, fitting[works.index(least)]

    def _chain(self, step: Step) -> int:
        """Return the length of the longest chain of steps that ends with this one."""
        return 1 + max((self._length[i] for i in self.children_of(step)), default=0)

    def _work(self, step: Step, allowed: int) -> int:
        """Return the approximate number of extra products of a step and all its descendants."""
        total = sum(self._best[i, allowed - 1][0] for i in self.children_of(step))
        for group in step:  # each of its pairs costs a product in every row of L and of the inverse
            touched = self._above[group[-1]] + self._below[group[-1]] + 4
            total += len(group) * (len(group) - 1) // 2 * touched
        return total + PAIR_PRODUCTS * (len(step) - 1)

    def _candidates(self, top: int) -> list[Step]:
        """Return the possible steps in which ``top`` is nearest the root."""
        uppers = self._lines(top)
        steps: list[Step] = [(group,) for group in uppers]
        if top not in self.children[ROOT] or self._largest == 1:
            return steps
        for upper in uppers:
            lowers = [group for child in self.children[upper[0]] for group in self._lines(child)]
            if len(upper) == 1:
                steps += [(lower, upper) for lower in lowers]
            elif self._steady.issuperset(upper):
                steps += [(upper, lower) for lower in lowers if self._alike(upper, lower)]
        return steps

    def _lines(self, top: int) -> list[Group]:
        """Return the groups in which ``top`` is nearest the root."""
        last: list[Group] = [(top,)]
        lines = last
        for _ in range(self._largest - 1):
            last = [
                (child, *group)
                for group in last
                for child in self.children[group[0]]
                if self._alike((child,), group)
            ]
            lines = lines + last
        return lines

    def _alike(self, one: Group, other: Group) -> bool:
        """Return whether two groups are both of those that stay apart, or both of the others."""
        return (one[0] in self._apart) == (other[0] in self._apart)
