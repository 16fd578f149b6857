"""C of the bit-exact model: the program's integers, its packets, and its arrays.

``model.c`` and ``model.h`` compute the same bits as :mod:`rbdhw.fixed.evaluate`, in C11 without undefined
behaviour. With GCC and Clang a vector holds one value of several tasks. Each function is a chain of blocks
(:mod:`rbdhw.software.straight_line`) that loop over a few vectors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from typing import ClassVar

from rbdhw.design.model import AcceleratorModel
from rbdhw.domain.graph_inputs import angular_coordinates
from rbdhw.fixed.angles import TURN, TURN_REST
from rbdhw.fixed.format import align
from rbdhw.fixed.program import Kind, Operand, Operation, Program, Word, exact_interval
from rbdhw.fixed.reciprocal import ReciprocalSpec
from rbdhw.fixed.trigonometry import GUARD, TrigonometrySpec
from rbdhw.interface import SINGLE_BITS, FunctionWords
from rbdhw.protocol import EXTENDED, HEADER, HEADER_BITS, WordName, mirrored_elements
from rbdhw.software.arrays import Array, arrays_of
from rbdhw.software.c_text import comment, fill, integer, table
from rbdhw.software.declaration import Declaration
from rbdhw.software.straight_line import Block, split_into_blocks

MODEL_FILES = ("model.c", "model.h")

BLOCK_SIZE = 100
"""Operations of a block, whose instructions fit the instruction cache of a processor's core."""

MOST_VECTORS = 8
"""The most vectors that a block loops over."""

VECTOR_BYTES = 64
STACK_BYTES = 1 << 19
"""The memory that a function's vectors may take of the stack, unless one vector of each value takes more."""


def model_files(model: AcceleratorModel) -> dict[str, str]:
    """Return the texts of :data:`MODEL_FILES` by name.

    Raises
    ------
    OverflowError
        If a sum or product of the program could exceed 64 bits.
    """
    functions = [_Function(model, words) for words in model.interface.functions]
    heading = comment(
        (
            f"rbdhw {version('rbdhw')}: the bit-exact model of an accelerator",
            f"for the robot {json.dumps(model.robot.name)}. manifest.json describes its words and packets.",
        )
    )
    values = {
        "heading": heading,
        "robot": model.robot,
        "interface": model.interface,
        "functions": functions,
        "header": HEADER,
        "header_bits": HEADER_BITS,
        "extended": EXTENDED,
    }
    source = fill(
        "model.c",
        **values,
        units=_Units(model.programs).text(),
        slots=table("int", "slot_widths", _numbers(_slot_widths(model))),
        request_header=(
            ("tag", "tag"),
            ("function", "function->code"),
            ("options", f"extended ? {1 << EXTENDED} : 0"),
        ),
        turn=repr(TURN),
        turn_rest=repr(TURN_REST),
        most_words=max(f.block * (f.words[0][1] + 1) for f in functions),
        most_results=max(f.block * f.words[1][1] for f in functions),
        most_outputs=max(f.words[1][1] for f in functions),
        most_block=max(f.block for f in functions),
    )
    return {"model.c": source, "model.h": fill("model.h", **values)}


def _slot_widths(model: AcceleratorModel) -> Sequence[int]:
    interface = model.interface
    return [SINGLE_BITS] * len(interface.slots) if interface.converts else interface.slots


def _numbers(values: Sequence[int]) -> list[str]:
    return [str(value) for value in values]


# Units that several operations use


class _Units:
    """The C functions of trigonometry and reciprocals that programs use; equal units are one function."""

    def __init__(self, programs: Sequence[Program]) -> None:
        kinds = [{operation.kind for operation in program.operations} for program in programs]
        turning = [p.trigonometry for p, own in zip(programs, kinds, strict=True) if own & _TURNS]
        inverting = [p.reciprocal for p, own in zip(programs, kinds, strict=True) if Kind.RECIPROCAL in own]
        self._trigonometry = list(dict.fromkeys(turning))
        self._reciprocals = list(dict.fromkeys(spec for spec in inverting if spec is not None))

    def trigonometry(self, program: Program) -> str:
        """Return the name of a program's function for sine and cosine."""
        return "sin_cos" + _suffix(self._trigonometry.index(program.trigonometry))

    def reciprocal(self, program: Program) -> str:
        """Return the name of a program's function for reciprocals."""
        assert program.reciprocal is not None
        return "reciprocal" + _suffix(self._reciprocals.index(program.reciprocal))

    def text(self) -> str:
        """Return the C of all units."""
        parts = [_trigonometry(spec, _suffix(k)) for k, spec in enumerate(self._trigonometry)]
        if self._reciprocals:
            parts.append(fill("leading.c"))
        parts += [_reciprocal(spec, _suffix(k)) for k, spec in enumerate(self._reciprocals)]
        return "\n".join(parts)


_TURNS = {Kind.SIN, Kind.COS}


def _suffix(place: int) -> str:
    """Return the end of the names of a unit; the first one has none."""
    return f"_of_{place}" if place else ""


def _trigonometry(spec: TrigonometrySpec, suffix: str) -> str:
    columns = [
        table("int64_t", f"{name}{suffix}_{power}", [integer(int(entry)) for entry in column])
        for name, powers in zip(("sine", "cosine"), spec.tables, strict=True)
        for power, column in enumerate(powers)
    ]
    return "\n".join(columns) + fill(
        "sin_cos.c",
        spec=spec,
        suffix=suffix,
        guard=GUARD,
        cuts=[spec.product_cut(power) for power in range(spec.order)],
        integer=integer,
    )


def _reciprocal(spec: ReciprocalSpec, suffix: str) -> str:
    columns = [
        table("int64_t", f"reciprocal{suffix}_{power}", [integer(int(entry)) for entry in column])
        for power, column in enumerate(spec.tables)
    ]
    return "\n".join(columns) + fill("reciprocal.c", spec=spec, suffix=suffix, integer=integer)


# Functions


@dataclass(frozen=True)
class _Function(Declaration):
    """A dynamics function, as the templates show it."""

    real: ClassVar[str] = "double"

    model: AcceleratorModel
    own: FunctionWords

    @property
    def name(self) -> str:
        return self.own.name

    @property
    def code(self) -> int:
        return self.own.code

    @cached_property
    def sides(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        return arrays_of(self.model.robot, self.name, self._words_of_inputs())

    def _words_of_inputs(self) -> set[str]:
        return {WordName.parse(word).array for word in self.model.inputs}

    @property
    def is_extended(self) -> str:
        """The expression of whether any optional array is given."""
        optional = [array.name for array in chain(*self.sides) if array.optional]
        return " || ".join(f"{name} != NULL" for name in optional) or "0"

    @property
    def words(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The numbers of words of requests and of responses, without and with optional words."""
        counts = [(len(words(False)), len(words(True))) for words in (self.own.brought, self.own.returned)]
        return counts[0], counts[1]

    @property
    def request_bytes(self) -> int:
        return self._bytes(self.model.interface.request_widths(self.name, extended=True))

    @property
    def response_bytes(self) -> int:
        return self._bytes(self.model.interface.response_widths(self.name, extended=True))

    def _bytes(self, widths: Sequence[int]) -> int:
        return self.model.interface.beats(widths) * self.model.interface.data_width // 8

    @property
    def request_numbers(self) -> list[int]:
        return [len(self.model.interface.request_widths(self.name, extended)) for extended in (False, True)]

    @property
    def tables(self) -> str:
        """The tables of words, of array sizes and of widths."""
        inputs, outputs = self.sides
        angles = angular_coordinates(self.model.robot)
        wraps = self.model.domain.wraps
        brought, returned = self.own.brought(extended=True), self.own.returned(extended=True)
        mirrored = mirrored_elements(word.name for word in (*brought, *returned))
        entries = (
            [self._entry(word, inputs, mirrored, angles, wraps) for word in brought],
            [self._entry(word, outputs, mirrored, (), ()) for word in returned],
        )
        nothing = "{0, 0, -1, 0, 1, 0, 0, 0, 0, 0, 0}"
        widths = self.model.interface.response_widths(self.name, extended=True)
        return "".join(
            [
                table("struct word", f"{self.name}_inputs", entries[0] or [nothing]),
                table("struct word", f"{self.name}_outputs", entries[1] or [nothing]),
                table("int", f"{self.name}_input_sizes", _numbers([array.size for array in inputs])),
                table("int", f"{self.name}_output_sizes", _numbers([array.size for array in outputs])),
                table("int", f"{self.name}_result_widths", _numbers(widths)),
                table("int", f"{self.name}_ones", _numbers([*chain(*self.ones)])),
            ]
        )

    def _entry(
        self,
        word: Word,
        arrays: Sequence[Array],
        mirrored: Mapping[str, tuple[int, ...]],
        angles: Sequence[bool],
        wraps: Sequence[bool],
    ) -> str:
        """Return the initialiser of a ``struct word``."""
        name = WordName.parse(word.name)
        place = next(k for k, array in enumerate(arrays) if array.name == name.array)
        own = name.array == "q" and bool(angles)
        angle = word.unit == "turn"
        bounded = word.lowest is not None and word.highest is not None
        fields = (
            place,
            arrays[place].place(name.index),
            arrays[place].place(mirrored[word.name]) if word.name in mirrored else -1,
            word.slot,
            word.format.width,
            word.format.binary_point,
            int(angle),
            int(own and wraps[name.index[0]]),
            int(bounded or not angles),
            integer(word.lowest or 0),
            integer(word.highest or 0),
        )
        return "{" + ", ".join(map(str, fields)) + "}"

    @cached_property
    def _code(self) -> _Kernel:
        return _Kernel(self.model.program_of(self.name), self.own, _Units(self.model.programs))

    @property
    def block(self) -> int:
        return self._code.vectors

    @property
    def kernel(self) -> str:
        return self._code.text()


class _Kernel:
    """The C of a function's operations: blocks, and the function that calls them in order."""

    def __init__(self, program: Program, own: FunctionWords, units: _Units) -> None:
        self._program, self._own, self._units = program, own, units
        self._decided = {
            flag.value: own.name in flag.functions
            for flag in program.flags
            if not (flag.optional and own.name in flag.functions)
        }
        self._place = {word.value: k for k, word in enumerate(own.brought(extended=True))}
        self._flag = len(self._place)
        order = [i for i in sorted(program.operations_of(own.name)) if self._operation(i).kind not in _GIVEN]
        self._code = split_into_blocks(order, self._operands, BLOCK_SIZE)
        self._results: dict[int, list[int]] = {}
        for k, word in enumerate(own.returned(extended=True)):
            self._results.setdefault(word.value, []).append(k)
        values = self._flag + 1 + len(own.returned(extended=True)) + self._code.places
        self.vectors = max(1, min(MOST_VECTORS, STACK_BYTES // (values * VECTOR_BYTES)))

    def _operation(self, i: int) -> Operation:
        return self._program.operations[i]

    def _operands(self, i: int) -> tuple[int, ...]:
        """Return the operands of an operation, with the choices that the function decides made."""
        operation = self._operation(i)
        values = tuple(operand.value for operand in operation.operands)
        if operation.kind is Kind.SELECT and values[0] in self._decided:
            return (values[1 if self._decided[values[0]] else 2],)
        return values

    def text(self) -> str:
        name = self._own.name
        first, *others = [self._block(block) for block in self._code.blocks] or [[]]
        blocks = [self._free() + first, *others]
        return fill(
            "kernel.c",
            name=name,
            blocks=blocks,
            store=max(1, self._code.places * self.vectors),
        )

    def _free(self) -> list[str]:
        """Return the lines of results that need no statement."""
        return [
            line
            for value, places in self._results.items()
            if self._operation(value).kind in _GIVEN
            for line in self._result_lines(places, self._leaf(value))
        ]

    def _block(self, block: Block) -> list[str]:
        lines = [f"const lanes v{value} = store[{place * self.vectors}];" for value, place in block.loads]
        phases: dict[tuple[Operand, int], str] = {}
        for i in block.body:
            lines += self._statement(i, phases)
            lines += self._result_lines(self._results.get(i, ()), f"v{i}")
        return lines + [f"store[{place * self.vectors}] = v{value};" for value, place in block.stores]

    def _result_lines(self, places: Sequence[int], value: str) -> list[str]:
        return [f"results[{place * self.vectors}] = {value};" for place in places]

    def _statement(self, i: int, phases: dict[tuple[Operand, int], str]) -> Iterator[str]:
        """Yield the lines that compute a value."""
        operation = self._operation(i)
        _check_range(self._program, operation)
        match operation.kind:
            case Kind.SIN | Kind.COS:
                yield from self._turn(i, operation, phases)
            case Kind.RECIPROCAL:
                yield f"lanes v{i};"
                x, unit = self._shifted(operation.operands[0]), self._units.reciprocal(self._program)
                yield f"{{ const lanes x = {x}; {unit}(&x, {operation.constant}, &v{i}); }}"
                if operation.checked:
                    low, high = integer(operation.format.lowest), integer(operation.format.highest)
                    yield f"{{ const lanes x = NOT_BELOW(v{i}, {low}), y = NOT_ABOVE(x, {high});"
                    yield f"over |= v{i} ^ y; v{i} = y; }}"
            case _:
                full = _rounded(self._exact(operation), operation.drop)
                if operation.checked:
                    spare = 64 - operation.format.width
                    yield f"const lanes x{i} = {full}, v{i} = WRAP(x{i}, {spare}); over |= x{i} ^ v{i};"
                else:
                    yield f"const lanes v{i} = {full};"

    def _turn(self, i: int, operation: Operation, phases: dict[tuple[Operand, int], str]) -> Iterator[str]:
        """Yield the lines of a sine or cosine; both of one angle are computed together."""
        key = operation.operands[0], operation.constant
        if key not in phases:
            phases[key] = f"t{i}"
            angle = f"{self._shifted(key[0])} + {integer(key[1])}"
            yield f"lanes t{i}_sine, t{i}_cosine;"
            unit = self._units.trigonometry(self._program)
            yield f"{{ const lanes angle = {angle}; {unit}(&angle, &t{i}_sine, &t{i}_cosine); }}"
        part = "sine" if operation.kind is Kind.SIN else "cosine"
        yield f"const lanes v{i} = {phases[key]}_{part};"

    def _exact(self, operation: Operation) -> str:
        """Return the expression of a result before it is rounded."""
        operands = operation.operands
        match operation.kind:
            case Kind.ADD:
                return " + ".join(map(self._shifted, operands))
            case Kind.MULTIPLY:
                return " * ".join(map(self._shifted, operands))
            case Kind.SCALE:
                return f"{self._shifted(operands[0])} * {integer(operation.constant)}"
            case Kind.DOT:
                return " + ".join(
                    _aligned(f"({self._leaf(first)} * {self._leaf(second)})", operand)
                    for operand, first, second in operation.pairs
                )
            case _:  # a choice
                flag, yes, no = operands
                if flag.value in self._decided:
                    return self._shifted(yes if self._decided[flag.value] else no)
                one, other = self._shifted(yes), self._shifted(no)
                return f"({other} ^ (({one} ^ {other}) & -({self._shifted(flag)})))"

    def _shifted(self, operand: Operand) -> str:
        return _aligned(self._leaf(operand.value), operand)

    def _leaf(self, value: int) -> str:
        """Return the expression of a value."""
        operation = self._operation(value)
        if operation.kind is Kind.CONSTANT:
            return f"(ZERO + {integer(operation.constant)})"
        if operation.kind is not Kind.INPUT:
            return f"v{value}"
        if value in self._decided:
            return f"(ZERO + {integer(int(self._decided[value]))})"
        if value in self._place or any(flag.value == value for flag in self._program.flags):
            return f"words[{self._place.get(value, self._flag) * self.vectors}]"
        return "ZERO"  # an input of other functions


_GIVEN = (Kind.INPUT, Kind.CONSTANT)
"""The kinds of values that are not computed."""


def _aligned(text: str, operand: Operand) -> str:
    if operand.shift > 0:
        text = f"SHIFT({text}, {operand.shift})"
    elif operand.shift < 0:
        text = f"({text} >> {-operand.shift})"
    return f"(-{text})" if operand.negative else text


def _rounded(text: str, drop: int) -> str:
    return text if drop == 0 else f"({text} + {integer(1 << (drop - 1))}) >> {drop}"


def _check_range(program: Program, operation: Operation) -> None:
    """Check that no step of an operation exceeds 64 bits, where C leaves sums and products undefined."""
    if operation.kind in (Kind.SIN, Kind.COS, Kind.RECIPROCAL):
        return
    formats = _Formats(program)
    steps = [exact_interval(replace(operation, drop=0), formats)]
    if operation.kind is not Kind.DOT:
        for operand in operation.operands:
            low, high = formats[operand.value]
            steps.append((align(low, operand.shift), align(high, operand.shift)))
    half = (1 << operation.drop) >> 1
    if any(low < -(1 << 63) or high + half >= 1 << 63 for low, high in steps):
        raise OverflowError(f"{operation}: exceeds 64 bits")


class _Formats(Mapping[int, tuple[int, int]]):
    """The range of every value's format."""

    def __init__(self, program: Program) -> None:
        self._operations = program.operations

    def __getitem__(self, value: int) -> tuple[int, int]:
        own = self._operations[value].format
        return own.lowest, own.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._operations)))

    def __len__(self) -> int:
        return len(self._operations)
