"""Gappa agrees with the bounds of the units' roundings, where it is installed (Debian has it)."""

import shutil
import subprocess

import pytest

from rbdhw.fixed.reciprocal import reciprocal_spec, remainder
from rbdhw.fixed.trigonometry import GUARD, trigonometry_spec

pytestmark = [
    pytest.mark.verify,
    pytest.mark.skipif(shutil.which("gappa") is None, reason="gappa is not installed"),
]

HORNER = """
@down = fixed<0,dn>;
inner = {inner};
sum = c0 + {half} + {cut}inner * r * 1b-{cut0}{end};
{result}
exact = s0 + {exact} * r * 1b-{cut0};
{{ c0 - s0 in [-0.5,0.5] /\\ c1 - s1 in [-0.5,0.5] /\\ c2 - s2 in [-0.5,0.5] /\\ |r| <= {rest}
   -> {claim} in [-{bound},{bound}] }}
{split}
sum - exact -> (c0 - s0) + {half} + {slack} + (inner - {exact}) * r * 1b-{cut0};
inner - {exact} -> (c1 - s1) + {inner_error};
"""
"""Horner's rule in units of the last bit of c0; c are rounded coefficients, s exact ones, r is the rest."""


def script(order, cuts, rest_bits, guard, bound):
    """Return the claim that the result errs by at most so much from the exact polynomial."""
    product = f"r * 1b-{cuts[-1]}"
    second = order == 2
    cut = guard == 1  # the last product is cut before the sum, else the sum
    return HORNER.format(
        inner=f"c1 + down(c2 * {product})" if second else "c1",
        exact=f"(s1 + s2 * {product})" if second else "s1",
        inner_error=f"(down(c2 * {product}) - c2 * {product}) + (c2 - s2) * {product}" if second else "0",
        slack=f"(down(inner * r * 1b-{cuts[0]}) - inner * r * 1b-{cuts[0]})" if cut else "0",
        cut="down(" if cut else "",
        end=")" if cut else "",
        result="" if cut else f"result = down(sum / {guard});",
        claim="sum - exact" if cut else f"{guard} * result - exact",
        split=""
        if cut
        else f"{guard} * result - exact -> {guard} * (result - sum / {guard}) + (sum - exact);",
        half=0.5 if cut else guard / 2,
        cut0=cuts[0],
        rest=1 << rest_bits - 1,
        bound=bound,
    )


def agrees(text):
    run = subprocess.run(["gappa"], input=text, capture_output=True, text=True, check=False)
    assert "parse error" not in run.stderr, run.stderr
    return run.returncode == 0


@pytest.mark.parametrize("width", [12, 18, 22, 27, 32])
def test_sines(width):
    spec = trigonometry_spec(width)
    guard, cuts = 1 << GUARD, [spec.product_cut(power) for power in range(spec.order)]
    # All of the stated accuracy but the polynomial's remainder.
    bound = guard + 1 + spec.order
    assert agrees(script(spec.order, cuts, spec.rest_bits, guard, bound))
    assert not agrees(script(spec.order, cuts, spec.rest_bits, guard, 4))


@pytest.mark.parametrize("width", [12, 18, 22, 27, 32])
def test_reciprocals(width):
    spec = reciprocal_spec(width + 4, width)
    steps = (spec.accuracy - remainder(spec.index_bits, spec.order)) * 2.0**spec.result_bits
    cuts = [spec.rest_bits] * spec.order
    # A step is for operands with more bits than the mantissa.
    assert agrees(script(spec.order, cuts, spec.rest_bits, 1, steps - 1))
    assert not agrees(script(spec.order, cuts, spec.rest_bits, 1, 1))
