"""Operation counts of built programs, against their multipliers, and before and after fusion."""

from dataclasses import replace

import pytest

from benchmarks.builds import ALL, plan_of, robot_of
from rbdhw.design.entries import Multiplications, Operations
from rbdhw.emit.manifest import function_counts, manifest, operation_counts
from rbdhw.emit.operation_counts import program_counts
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.explore.plan import accelerator_of
from rbdhw.fixed.format import Format
from rbdhw.fixed.fusion import fuse
from rbdhw.fixed.program import Flag, Kind, Operand, Operation, Program, Word
from rbdhw.fixed.trigonometry import trigonometry_spec
from rbdhw.frontend.functions import trace
from rbdhw.options.build import BuildOptions
from rbdhw.passes.prune import prune
from rbdhw.quantize.formats import MOST_TERMS
from rbdhw.robot.frames import align_axes
from rbdhw.scalar import Region
from tests.support.marks import long

FORMAT = Format(18, 9)
REGION = Region("unit")


def operation(kind, *values, constant=0):
    return Operation(kind, tuple(Operand(value) for value in values), FORMAT, REGION, constant)


@pytest.fixture
def program() -> Program:
    """Return a program of ``1 / u``; ``u`` is ``(x + y) * x`` for ``fd`` with its flag, else ``3 x``."""
    operations = (
        operation(Kind.INPUT),
        operation(Kind.INPUT),
        operation(Kind.INPUT),
        operation(Kind.ADD, 0, 1),
        operation(Kind.MULTIPLY, 3, 0),
        operation(Kind.SCALE, 0, constant=3),
        operation(Kind.SELECT, 2, 4, 5),
        operation(Kind.RECIPROCAL, 6),
        operation(Kind.ADD, 7),
    )
    outputs = {name: (Word(f"{name}.a[0]", "1", 8, FORMAT),) for name in ("id", "fd")}
    inputs = tuple(Word(name, "1", k, FORMAT) for k, name in enumerate("xy"))
    flags = (Flag("given", 2, ("fd",), optional=False),)
    return Program(operations, inputs, flags, outputs, trigonometry_spec(18), None, (18, 18))


def counts(variable, constant, additions, reciprocals):
    multiplications = Multiplications(variable=variable, constant=constant)
    return Operations(multiplications=multiplications, additions=additions, reciprocals=reciprocals)


def products(operations):
    return operations.multiplications.variable + operations.multiplications.constant


def test_operations_that_a_function_reaches(program):
    """A sum of one operand is not counted as an addition."""
    assert program_counts(program, "fd") == counts(1, 0, 1, 1)
    assert program_counts(program, "id") == counts(0, 1, 0, 1)


def test_sums_of_products():
    """In ``x y + 3 x + 4 y - x z`` the product with four is a shift."""
    values = [operation(Kind.INPUT), operation(Kind.INPUT), operation(Kind.INPUT)]
    values += [operation(Kind.CONSTANT, constant=3), operation(Kind.CONSTANT, constant=-4)]
    values += [operation(Kind.DOT, 0, 1, 0, 3, 1, 4, 0, 2)]
    outputs = {"id": (Word("id.tau[0]", "1", 5, FORMAT),)}
    dot = Program(tuple(values), (), (), outputs, trigonometry_spec(18), None, (18, 18))
    assert program_counts(dot, "id") == counts(2, 1, 3, 0)


def test_results_on_request_are_not_counted():
    """The derivatives of inverse dynamics need no product for the forces themselves."""
    values = [operation(Kind.INPUT), operation(Kind.INPUT), operation(Kind.MULTIPLY, 0, 1)]
    outputs = {"did": (Word("did.dtau_dq[0,0]", "Nm", 0, FORMAT), Word("did.tau[0]", "Nm", 2, FORMAT))}
    program = Program(tuple(values), (), (), outputs, trigonometry_spec(18), None, (18, 18))
    assert program_counts(program, "did") == counts(0, 0, 0, 0)
    graph = trace(align_axes(robot_of("iiwa14")), ("did",))
    regular = replace(graph, outputs=tuple(pair for pair in graph.outputs if ".dtau" in pair[0]))
    assert function_counts(graph, "did") == operation_counts(prune(regular)) != operation_counts(graph)


LARGER = [long(name) for name in ("iiwa14", "hyq")]


@pytest.mark.parametrize("name", ["toy", *LARGER])
def test_all_products_have_multipliers(name):
    """At an interval of 1 every product has its own multiplier or its own adders."""
    plan = plan_of(name)
    entry = plan.core.entries()
    built = [products(program_counts(plan.program, function)) for function in ALL]
    reached = {function: plan.program.operations_of(function) for function in ALL}
    indices = {
        i
        for operations in reached.values()
        for i in operations
        if plan.program.operations[i].kind in (Kind.MULTIPLY, Kind.SCALE)
    }
    assert entry["multipliers"] + entry["shift_add_products"] == len(indices)
    assert max(built) <= len(indices) <= sum(built)


@pytest.mark.parametrize("name", [long("toy"), *LARGER])
def test_fusion_multiplies_no_more(name):
    """Fusion keeps the number of products and sums of each function."""
    program = plan_of(name, ii=4).program
    array = fuse(program, MOST_TERMS)
    assert any(operation.kind is Kind.DOT for operation in array.operations)
    for function in ALL:
        assert program_counts(array, function) == program_counts(program, function)


def test_what_only_other_functions_need_is_passed_through():
    """Forward dynamics multiplies more in a shared build, because products serve derivatives, too."""
    together = program_counts(plan_of("toy").program, "fd")
    options = BuildOptions(("fd",), width=18, samples=512)
    alone = program_counts(make_plan(robot_of("toy"), options).program, "fd")
    assert products(together) > 1.1 * products(alone)


def test_the_manifest_has_both_counts():
    """The manifest counts the operations of the built program and of the graph, which depends on flags."""
    plan, options = plan_of("toy"), BuildOptions(ALL, width=18)
    facts = manifest(accelerator_of(plan), options)
    for function, counts in facts.functions.items():
        graph = function_counts(plan.prepared.graph, function)
        assert counts.built == program_counts(plan.program, function)
        assert dict(graph).items() <= dict(counts).items()
    entry = facts.functions["dfd"]
    assert products(entry.built) > products(entry)
