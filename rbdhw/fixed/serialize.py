"""Convert a ``Program`` to plain JSON data and back, exactly; each operation is a short list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, ValidationError

from rbdhw.arrays import Element
from rbdhw.errors import InputError
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import MOST_SHIFT, MOST_WIDTH, Flag, Kind, Operand, Operation, Program, Word
from rbdhw.fixed.reciprocal import ReciprocalSpec
from rbdhw.fixed.trigonometry import TrigonometrySpec
from rbdhw.scalar import Region

_Index = Annotated[StrictInt, Field(ge=0)]
_Width = Annotated[StrictInt, Field(ge=1, le=MOST_WIDTH)]
_Shift = Annotated[StrictInt, Field(ge=-MOST_SHIFT, le=MOST_SHIFT)]
_Drop = Annotated[StrictInt, Field(ge=0, le=MOST_SHIFT)]

_OPERANDS: dict[Kind, Sequence[int]] = {
    Kind.INPUT: (0,),
    Kind.CONSTANT: (0,),
    Kind.ADD: (1, 2),
    Kind.MULTIPLY: (2,),
    Kind.SCALE: (1,),
    Kind.DOT: range(2, 2 * 64 + 1, 2),
    Kind.SIN: (1,),
    Kind.COS: (1,),
    Kind.RECIPROCAL: (1,),
    Kind.SELECT: (3,),
}


class _Operand(NamedTuple):
    value: _Index
    negative: StrictBool
    shift: _Shift


class _Operation(NamedTuple):
    kind: Kind
    operands: tuple[_Operand, ...]
    width: _Width
    binary_point: StrictInt
    region: _Index
    constant: StrictInt
    drop: _Drop
    checked: StrictBool
    name: str


class _Word(NamedTuple):
    name: str
    unit: str
    value: _Index
    width: _Width
    binary_point: StrictInt
    lowest: StrictInt | None
    highest: StrictInt | None
    slot: _Index
    also: tuple[tuple[str, StrictBool], ...] = ()


class _Flag(NamedTuple):
    name: str
    value: _Index
    functions: tuple[str, ...]
    optional: StrictBool


class _Region(NamedTuple):
    step: str
    joint: _Index | None


class _Trigonometry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    width: Annotated[StrictInt, Field(ge=2, le=60)]
    phase_bits: Annotated[StrictInt, Field(ge=5, le=63)]
    index_bits: Annotated[StrictInt, Field(ge=1, le=16)]
    order: Literal[1, 2]


class _Reciprocal(BaseModel):
    model_config = ConfigDict(extra="forbid")
    width: Annotated[StrictInt, Field(ge=5, le=60)]
    result_bits: Annotated[StrictInt, Field(ge=2, le=60)]
    index_bits: Annotated[StrictInt, Field(ge=1, le=16)]
    order: Literal[1, 2]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")
    port_widths: tuple[_Width, _Width]
    trigonometry: _Trigonometry
    reciprocal: _Reciprocal | None
    regions: tuple[_Region, ...]
    inputs: tuple[_Word, ...]
    flags: tuple[_Flag, ...]
    outputs: dict[str, tuple[_Word, ...]]
    operations: tuple[_Operation, ...]
    proven: StrictBool = False


def program_to_json(program: Program) -> dict[str, Any]:
    """Convert ``program`` to dictionaries, lists, strings and integers that any JSON writer accepts.

    An operation is the list ``[kind, operands, width, binary point, region, constant, drop, checked,
    name]``, an operand ``[value, negative, shift]``, a word ``[name, unit, value, width, binary point,
    lowest, highest, slot]``, a flag ``[name, value, functions, optional]``. A word that names other elements
    ends with a list of them, each ``[name, negative]``. Regions are listed once, as ``[step, joint]``, and
    operations refer to them by index.
    """
    regions = {region: i for i, region in enumerate(sorted({o.region for o in program.operations}))}
    inverter = program.reciprocal
    return {
        "port_widths": list(program.port_widths),
        "trigonometry": {name: getattr(program.trigonometry, name) for name in _Trigonometry.model_fields},
        "reciprocal": inverter and {name: getattr(inverter, name) for name in _Reciprocal.model_fields},
        "regions": [[region.step, region.joint] for region in regions],
        "inputs": [_word_to_json(word) for word in program.inputs],
        "flags": [[flag.name, flag.value, list(flag.functions), flag.optional] for flag in program.flags],
        "outputs": {
            function: [_word_to_json(word) for word in words] for function, words in program.outputs.items()
        },
        "operations": [_operation_to_json(o, regions[o.region]) for o in program.operations],
        **({"proven": True} if program.proven else {}),
    }


def program_from_json(data: dict[str, Any]) -> Program:
    """Return the program that :func:`program_to_json` converted to ``data``.

    Raises
    ------
    InputError
        A field is missing or of the wrong type, or a rule is broken: operands are earlier operations, their
        number fits the kind, every input operation has one word or flag, and every word has a value.
    """
    try:
        document = _Document.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "program"
        raise _error(where, first["msg"], "what program_to_json writes") from None
    for i, operation in enumerate(document.operations):
        _check_operation(document, i, operation)
    _check_words(document)
    regions = [Region(*region) for region in document.regions]
    return Program(
        tuple(_operation(operation, regions) for operation in document.operations),
        tuple(_word(word) for word in document.inputs),
        tuple(Flag(*flag) for flag in document.flags),
        {function: tuple(_word(word) for word in words) for function, words in document.outputs.items()},
        TrigonometrySpec(**document.trigonometry.model_dump()),
        ReciprocalSpec(**document.reciprocal.model_dump()) if document.reciprocal else None,
        document.port_widths,
        proven=document.proven,
    )


def _word_to_json(word: Word) -> list[Any]:
    chosen = word.format
    return [
        word.name,
        word.unit,
        word.value,
        chosen.width,
        chosen.binary_point,
        word.lowest,
        word.highest,
        word.slot,
        *([[list(element) for element in word.also]] if word.also else []),
    ]


def _operation_to_json(operation: Operation, region: int) -> list[Any]:
    return [
        operation.kind.value,
        [[operand.value, operand.negative, operand.shift] for operand in operation.operands],
        operation.format.width,
        operation.format.binary_point,
        region,
        operation.constant,
        operation.drop,
        operation.checked,
        operation.name,
    ]


def _word(word: _Word) -> Word:
    chosen = Format(word.width, word.binary_point)
    also = tuple(Element(*element) for element in word.also)
    return Word(word.name, word.unit, word.value, chosen, word.lowest, word.highest, word.slot, also)


def _operation(operation: _Operation, regions: list[Region]) -> Operation:
    return Operation(
        operation.kind,
        tuple(Operand(*operand) for operand in operation.operands),
        Format(operation.width, operation.binary_point),
        regions[operation.region],
        operation.constant,
        operation.drop,
        operation.checked,
        operation.name,
    )


def _check_operation(document: _Document, i: int, operation: _Operation) -> None:
    where, counts = f"operations.{i}", _OPERANDS[operation.kind]
    if len(operation.operands) not in counts:
        expected = "pairs" if operation.kind is Kind.DOT else " or ".join(str(count) for count in counts)
        raise _error(where, f"{operation.kind} of {len(operation.operands)} operands", expected)
    for operand in operation.operands:
        if operand.value >= i:
            raise _error(where, f"operand {operand.value}", "the index of an earlier operation")
    if operation.kind is Kind.RECIPROCAL and document.reciprocal is None:
        raise _error(where, "a reciprocal without its unit", "the unit's parameters in 'reciprocal'")
    if operation.region >= len(document.regions):
        raise _error(where, f"region {operation.region}", f"an index below {len(document.regions)}")


def _check_words(document: _Document) -> None:
    for where, word in _words(document):
        if word.value >= len(document.operations):
            count = len(document.operations)
            raise _error(f"{where}, word {word.name!r}", f"value {word.value}", f"an index below {count}")
    inputs = {i: o.name for i, o in enumerate(document.operations) if o.kind is Kind.INPUT}
    words = {word.value: word.name for word in document.inputs}
    words |= {flag.value: flag.name for flag in document.flags}
    if inputs != words or len(words) != len(document.inputs) + len(document.flags):
        raise _error("inputs", "not the input operations and their names", "one word or flag for each")


def _words(document: _Document) -> Iterator[tuple[str, _Word]]:
    """Yield every word with its location in the document."""
    yield from (("inputs", word) for word in document.inputs)
    for function, words in document.outputs.items():
        yield from ((f"outputs.{function}", word) for word in words)


def _error(where: str, reason: str, expected: str) -> InputError:
    return InputError(f"program data, {where}", reason, expected)
