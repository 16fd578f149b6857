"""The methods of an accelerator: their signatures, their documentation and the types of their results."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from rbdhw.arrays import kind_of
from rbdhw.errors import InputError
from rbdhw.protocol import BASE, BASE_HELD, CERTIFIED, CONTACT, FUNCTIONS, HOLDING, PARAMETERS


def arguments_checked(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that refuses arguments that it does not have, and calls without those that it needs."""
    signature = inspect.signature(call)

    @wraps(call)
    def checked(*positional: Any, **named: Any) -> Any:
        bind(signature, call.__name__, positional, named)
        return call(*positional, **named)

    return checked


def bind(
    signature: inspect.Signature, name: str, positional: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by name, without ``self``; InputError if they do not fit."""
    try:
        arguments = signature.bind(*positional, **named).arguments
    except TypeError as error:
        names = [parameter.name for parameter in signature.parameters.values() if parameter.name != "self"]
        raise InputError(f"function '{name}'", str(error), f"{name}({', '.join(names)})") from None
    arguments.pop("self", None)
    return arguments


def method(function: str) -> Callable[..., Any]:
    """Return the method that computes a function; its signature has the function's arrays."""
    entry = FUNCTIONS[function]
    required = [name for name in entry.inputs if name not in (BASE_HELD, CONTACT, HOLDING, *BASE, "fext")]
    chosen = [name for name in entry.inputs if name not in (BASE_HELD, *required)]
    kinds = inspect.Parameter
    parameters = [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
    parameters += [
        kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None if name == "h" else kinds.empty)
        for name in required
    ]
    named: dict[str, Any] = dict.fromkeys((*chosen, *entry.optional_inputs))
    named |= {"base": None} if entry.base_choice else {}
    named |= {"extended": False} if entry.optional_outputs else {}
    named |= {"parameter_set": None} if PARAMETERS in entry.inputs else {}
    named |= {"certify": False} if function in CERTIFIED else {}
    parameters += [kinds(name, kinds.KEYWORD_ONLY, default=default) for name, default in named.items()]
    signature, names = inspect.Signature(parameters), [*required]
    simple = [name for name in entry.inputs if name in (CONTACT, *required)]
    contact = simple.index(CONTACT) if CONTACT in simple else None

    def compute(self: Any, *positional: Any, **named: Any) -> Any:
        arrays = None if named else positional
        if contact is not None and named.keys() <= {CONTACT}:
            contacts = named.get(CONTACT, self._all_contacts)
            arrays = (*positional[:contact], contacts, *positional[contact:])
        if arrays is not None and (answer := self._binding(function, simple)(*arrays)) is not None:
            return answer
        if len(positional) != len(names) or named:
            arguments = bind(signature, function, (self, *positional), named)
            extended, chosen = arguments.pop("extended", False), arguments.pop("parameter_set", None)
            base, certify = arguments.pop("base", None), arguments.pop("certify", False)
            return self._call(function, arguments, extended, chosen, base, certify)
        return self._call(function, dict(zip(names, positional, strict=True)), False)

    compute.__name__ = function
    compute.__qualname__ = f"Accelerator.{function}"
    compute.__signature__ = signature  # type: ignore[attr-defined]
    compute.__doc__ = _describe(function)
    return compute


def _describe(function: str) -> str:
    """Return the documentation of a method: shapes for one task, before which batches have an axis."""
    entry = FUNCTIONS[function]
    shapes = ", ".join(
        f"``{name}`` {_shape(name, function)}" for name in entry.outputs + entry.optional_outputs
    )
    optional = (
        f" ``{'``, ``'.join(entry.optional_outputs)}`` with ``extended``." if entry.optional_outputs else ""
    )
    bounds = "``, ``".join(f"{name}_error" for name in CERTIFIED.get(function, ()))
    certified = f" ``{bounds}``, bounds of their errors, with ``certify``." if bounds else ""
    return f"Return the {entry.title}: {shapes}, and ``status``.{optional}{certified}"


def _shape(name: str, function: str) -> str:
    """Return the shape of a function's result for one task, with the names of its lengths."""
    lengths = list(map(str, kind_of(name, function).dimensions))
    if not lengths:
        return "()"
    return f"({lengths[0]},)" if len(lengths) == 1 else f"({', '.join(lengths)})"
