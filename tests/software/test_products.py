"""Products of matrices in graphs: which sums are their columns, and what loops over them compute."""

import random
import re
from functools import cache

import numpy as np
import pytest

from rbdhw.frontend.read import mount
from rbdhw.graph.graph import Edge, GraphBuilder
from rbdhw.graph.interpret import interpret
from rbdhw.options.build import Mounting
from rbdhw.robot.model import JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.scalar import Region
from rbdhw.software import floating, products
from rbdhw.software.arrangement import arrange
from rbdhw.software.kernel import Division
from rbdhw.software.products import find_products
from tests.support.compilers import assert_no_warning
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.software import Built, assert_close, assert_computes_its_graphs, compute

ROWS, INNER, COLUMNS = 10, 12, 9

HERE = Region("solve", 0)


class Matrices:
    """A graph of sums of products of two matrices, whose entries are inputs with signs and powers of two."""

    def __init__(self, seed=0):
        self.builder, self.draw, self.outputs = GraphBuilder(), random.Random(seed), []
        self.left = self.matrix("p", ROWS, INNER)
        self.right = self.matrix("t", INNER, COLUMNS)

    def matrix(self, name, rows, columns):
        return [
            [self.turned(self.builder.input(f"{name}[{i},{j}]", HERE)) for j in range(columns)]
            for i in range(rows)
        ]

    def turned(self, edge):
        return Edge(0, self.draw.random() < 0.5, self.draw.randrange(-3, 4)).applied(edge)

    def inner(self, row, column, terms, more=()):
        total = None
        for edge in [*(self.builder.multiply(row[k], column[k], HERE) for k in terms), *more]:
            total = edge if total is None else self.builder.add(total, edge, HERE)
        return total

    def add(self, i, j, total):
        self.outputs.append((f"dfd.da_dq[{i},{j}]", total))

    def graph(self):
        return self.builder.finish(self.outputs)


def value_of(result, node, numbers):
    """Return the value of a sum by its product."""
    for product in result.products:
        for column in product.columns:
            if node in column.sums:
                row, scale = column.sums[node]
                terms = zip(column.panels, column.factors, strict=True)
                return scale * sum(
                    numbers[product.panels[k].nodes[row]]
                    * product.panels[k].scales[row]
                    * numbers[factor]
                    * weight
                    for k, (factor, weight) in terms
                )
    return None


def check_values(graph, result):
    """Compare sums, with what they have beside products, with the interpreter; return how many there are."""
    names = {f"{node.name}": i for i, node in enumerate(graph.nodes) if node.name}
    rng = np.random.default_rng(1)
    numbers = {i: rng.normal() for i in names.values()}
    results = interpret(graph, {name: np.array([numbers[i]]) for name, i in names.items()})
    checked = 0
    for name, edge in graph.outputs:
        whole = value_of(result, edge.node, numbers)
        if whole is not None:
            whole += sum(
                numbers[e.node] * (-1.0) ** e.negative * 2.0**e.shift for e in result.rest[edge.node]
            )
            assert whole * (-1.0) ** edge.negative * 2.0**edge.shift == pytest.approx(results[name][0])
            checked += 1
    return checked


def test_a_product_of_matrices_is_found():
    matrices = Matrices()
    for j, column in enumerate(zip(*matrices.right, strict=True)):
        for i, row in enumerate(matrices.left):
            matrices.add(i, j, matrices.inner(row, column, range(INNER)))
    graph = matrices.graph()
    result = find_products(graph)
    (product,) = result.products
    assert (product.rows, len(product.panels), len(product.columns)) == (ROWS, INNER, COLUMNS)
    assert product.products == ROWS * INNER * COLUMNS
    assert check_values(graph, result) == ROWS * COLUMNS


def test_columns_may_have_zeros_triangles_and_more_terms():
    """Columns with half of the terms; from the diagonal on; and with something beside the products."""
    matrices = Matrices(1)
    for j, column in enumerate(zip(*matrices.right, strict=True)):
        terms = range(INNER // (1 + j % 2))
        for i, row in enumerate(matrices.left):
            if j % 3 or i >= j // 3:
                more = [matrices.builder.input(f"more[{i},{j}]", HERE)] if i % 2 else []
                matrices.add(i, j, matrices.inner(row, column, terms, more))
    graph = matrices.graph()
    result = find_products(graph)
    (product,) = result.products
    assert (product.rows, len(product.panels)) == (ROWS, INNER)
    assert {len(column.sums) for column in product.columns} == {ROWS, ROWS - 1, ROWS - 2}
    assert check_values(graph, result) == len(graph.outputs)


def test_many_rows_are_several_products(monkeypatch):
    monkeypatch.setattr(products, "MOST_ROWS", 5)
    matrices = Matrices(2)
    for j, column in enumerate(zip(*matrices.right, strict=True)):
        for i, row in enumerate(matrices.left):
            matrices.add(i, j, matrices.inner(row, column, range(INNER)))
    graph = matrices.graph()
    result = find_products(graph)
    assert [product.rows for product in result.products] == [5, 5]
    assert check_values(graph, result) == ROWS * COLUMNS


def test_rows_that_need_each_other_are_no_product():
    """Each row of a column has the row before among its factors."""
    matrices = Matrices(3)
    for j, column in enumerate(zip(*matrices.right, strict=True)):
        before = None
        for i, row in enumerate(matrices.left):
            before = matrices.inner(row if before is None else [before, *row[1:]], column, range(INNER))
            matrices.add(i, j, before)
    assert find_products(matrices.graph()).products == ()


def test_small_products_are_left_as_they_are():
    matrices = Matrices(4)
    for i, row in enumerate(matrices.left):
        matrices.add(i, 0, matrices.inner(row, [line[0] for line in matrices.right], range(INNER)))
    assert find_products(matrices.graph()).products == ()


def sums_of(terms, rows, columns, seed=5):
    """Return the graph of so many sums in columns, of so many products each."""
    matrices = Matrices(seed)
    for j in range(columns):
        for i in range(rows):
            matrices.add(
                i, j, matrices.inner(matrices.left[i], [line[j] for line in matrices.right], range(terms))
            )
    return matrices.graph()


def test_the_least_terms_rows_and_products_are_enough(monkeypatch):
    monkeypatch.setattr(products, "LEAST_PRODUCTS", products.LEAST_TERMS * ROWS * COLUMNS)
    assert find_products(sums_of(products.LEAST_TERMS, ROWS, COLUMNS)).products
    monkeypatch.setattr(products, "LEAST_PRODUCTS", products.LEAST_TERMS * ROWS * COLUMNS + 1)
    assert not find_products(sums_of(products.LEAST_TERMS, ROWS, COLUMNS)).products
    monkeypatch.setattr(products, "LEAST_PRODUCTS", 1)
    assert not find_products(sums_of(products.LEAST_TERMS - 1, ROWS, COLUMNS)).products


def test_deferred_sums_are_in_columns_of_their_own():
    graph = sums_of(INNER, ROWS, COLUMNS)
    later = {edge.node for name, edge in graph.outputs if int(name[10]) >= ROWS // 2}
    result = find_products(graph, later)
    assert result.products
    for product in result.products:
        for column in product.columns:
            assert len({node in later for node in column.sums}) == 1


def test_terms_with_other_signs_are_no_part_of_a_product():
    """The first column's terms have signs of their own, which are those of no scale of a row and a term."""
    matrices = Matrices(6)
    for j in range(COLUMNS):
        column = [line[j] for line in matrices.right]
        for i, row in enumerate(matrices.left):
            wild = [Edge(0, matrices.draw.random() < 0.5 and not j, 0).applied(each) for each in row]
            matrices.add(i, j, matrices.inner(wild, column, range(INNER)))
    graph = matrices.graph()
    assert check_values(graph, find_products(graph)) >= ROWS * (COLUMNS - 1)


@pytest.mark.parametrize("more", [0, 1])
def test_optional_results_come_last_if_they_take_enough(more):
    """`dtau_dq` is needed, and `tau` is optional."""
    builder = GraphBuilder()
    a, b = (builder.input(name, HERE) for name in "ab")
    first = builder.multiply(a, b, HERE)
    second = builder.add(builder.multiply(first, b, HERE), a, HERE)
    graph = builder.finish([("did.dtau_dq[0,0]", first), ("did.tau[0]", second)])
    parts = arrange(graph, 2 + more).parts
    assert [part.optional for part in parts] == ([False] if more else [False, True])
    assert parts[-1].nodes[-1] == second.node


@pytest.fixture
def everywhere(monkeypatch):
    """Make loops of all products, however small, in blocks of few operations."""
    for name, least in (("LEAST_TERMS", 2), ("LEAST_ROWS", 2), ("LEAST_USES", 2), ("LEAST_PRODUCTS", 2)):
        monkeypatch.setattr(products, name, least)
    monkeypatch.setattr(floating, "PROCESSOR", Division(operations=20, vectors=2, loops=True))


@cache
def small_arm():
    """Return the software of an arm of four joints, with loops of all products."""
    return Built(mechanism([JointKind.REVOLUTE] * 4, range(-1, 3), 1), ("difd",))


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    ("number", "flags"),
    [
        long("float64", []),
        long("float32", ["-DRBDHW_VECTOR_BYTES=16"]),
        ("float64", ["-DRBDHW_VECTOR_BYTES=0"]),
    ],
)
def test_loops_compute_the_graph(number, flags):
    software = small_arm()
    assert "KERNEL(difd_rows" in software.texts["kernels_difd.h"]
    assert "KERNEL(difd_given_rows" in software.texts["kernels_difd.h"]
    assert_computes_its_graphs(software, software.library(number, flags))


@pytest.mark.verify
@pytest.mark.usefixtures("everywhere")
def test_loops_of_an_arm_compute_the_graph():
    software = Built(load_urdf(path("iiwa14")), ("dfd", "difd"))
    assert "KERNEL(dfd_rows" in software.texts["kernels_dfd.h"]
    assert_computes_its_graphs(software, software.library())


@pytest.mark.usefixtures("everywhere")
def test_columns_with_the_same_panels_are_computed_together():
    (text,) = re.findall(r"difd_terms0\)\[\] = \{(.*)\}", small_arm().texts["kernels_difd.h"])
    numbers, sizes = list(map(int, text.split(","))), []
    while numbers:
        count, together, *numbers = numbers
        sizes.append(together)
        numbers = numbers[count:]
    assert {*sizes} == {1, 3}  # four columns


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("count", [1, 3, 64])
def test_optional_results_are_computed_on_request(count):
    software = Built(mount(load_urdf(path("toy")), Mounting(contacts=(("tip", "point"),))), ("dcfd",))
    assert "if (!optional)" in software.texts["kernels_dcfd.h"]
    tasks, library = software.tasks(count), software.library()
    every = compute(software, library, "dcfd", tasks)
    assert_close(every, software.expected("dcfd", tasks), 1e-9)  # damping is a small share of what is solved
    inputs, outputs = software.arrays["dcfd"]
    asked = {array.name: np.zeros((count, *array.shape)) for array in outputs if not array.optional}
    assert len(asked) < len(outputs)
    library.compute("dcfd", {array.name: tasks[array.name] for array in inputs}, asked)
    for name, result in asked.items():
        assert np.array_equal(result, every[name])


@pytest.mark.verify
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    ("compiler", "options"),
    [("the host's", ("-std=c11",)), ("clang", ("-xc++", "-std=c++17", "-DRBDHW_REAL=float"))],
)
def test_no_compiler_warns_of_loops(compiler, options, tmp_path):
    for name, text in small_arm().texts.items():
        (tmp_path / name).write_text(text)
    assert "KERNEL(difd_rows" in (tmp_path / "kernels_difd.h").read_text()
    assert_no_warning(tmp_path, compiler, *options)
