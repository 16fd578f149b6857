"""Delays of operators and multipliers."""

import pytest

from rbdhw.delays import Pipeline, Product

PLAIN = Pipeline(2, 0.5, 2.0, 1.0)


@pytest.mark.parametrize(
    ("pipeline", "before", "after", "period"),
    [
        (Pipeline(0, 4.0, 0.0, 0.0), 1.0, 0.5, 5.5),
        (PLAIN, 1.0, 0.5, 2.0),
        (PLAIN, 2.0, 0.5, 2.5),
        (PLAIN, 1.0, 1.5, 2.5),
    ],
)
def test_the_longest_cycle_of_a_product(pipeline, before, after, period):
    assert pipeline.period(Product((18, 18), before, after)) == period
