"""The table of kernels in CUDA: a line for each function, with what ptxas reports."""

from rbdhw.bench import cuda_kernels
from rbdhw.bench.builds import ALL
from rbdhw.bench.cuda_kernels import kernel_layout, kernel_rows


def test_kernels_of_a_small_robot(monkeypatch):
    monkeypatch.setattr(cuda_kernels, "ARCHITECTURES", ("sm_80",))
    rows = kernel_rows([("toy", "fixed")])
    assert [(row["function"], row["real"]) for row in rows] == [
        (function, real) for real in ("double", "float") for function in ALL
    ]
    lines = kernel_layout(rows)
    assert [line[""] for line in lines] == [f"toy, {function}" for function in ALL]
    own = rows[0]
    assert own["spill_loads"] == 0
    assert lines[0]["double, sm_80"] == f"{own['registers']} / {own['stack']} / 0 / {own['code'] / 1e3:.0f}"
