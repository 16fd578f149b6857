"""A complete manifest of an invented design, for tests that change some of its entries."""

from typing import Any

OPERATIONS = {"multiplications": {"variable": 200, "constant": 13}, "additions": 206, "reciprocals": 0}
FUNCTION = {
    **OPERATIONS,
    "built": OPERATIONS,
    "latency_cycles": 21,
    "latency_us": 0.168,
    "core_latency_cycles": 16,
    "cycles_per_task": 4,
    "tasks_per_second": 31_250_000,
}
FIGURES = {"median": 2.4e-5, "max": 5e-4, "samples": 100, "flagged": 0, "clipped": 0}
RESULT = {
    **FIGURES,
    "limit": 1e-3,
    "floor": 4.61,
    "step": 2.0**-15,
    "units": ["Nm"],
    "strata": {"box": FIGURES},
}
ERROR = {**RESULT, "norm": "Frobenius", "results": {"tau": RESULT}}
UNITS = {
    "ii": 1,
    "core": "pipeline",
    "width": [18, 18],
    "dsp_blocks": 1,
    "multipliers": 1,
    "multiplier_slots": {"used": 1, "offered": 1},
    "shift_add_products": 0,
    "trigonometry_units": 0,
    "reciprocal_units": 0,
}
PART = {
    **UNITS,
    "functions": ["id"],
    "copies": 1,
    "wide_products": {"width": None, "multipliers": 0, "products": {}},
    "pipeline_registers": {},
    "formats": {"why": "--width 18", "tries": []},
    "cores": {"asked": "pipeline", "why": "the default", "estimates": {}},
    "algorithms": {},
    "tried": [],
}
MANIFEST: dict[str, Any] = {
    "format": 3,
    "name": "accelerator",
    "robot": {
        "name": "arm",
        "dof": 2,
        "nq": 2,
        "nv": 2,
        "joints": ["a", "b"],
        "joint_order": "pinocchio",
        "depth": 2,
        "base": "fixed",
    },
    **UNITS,
    "functions": {"id": FUNCTION},
    "parts": [PART],
    "clock_mhz": 50.0,
    "target": "ecp5-85",
    "regions": [],
    "error": {"id": ERROR},
    "budget": None,
    "versions": {},
    "seed": 0,
    "algorithms": {},
    "interval": {
        "ii": 1,
        "why": "the default",
        "fit": None,
        "link": {"bandwidth": None, "ii": 1, "function": "id", "functions": {}},
    },
    "coordinates": {"q": [], "v": []},
    "estimate": {
        "luts": 35,
        "flip_flops": 105,
        "dsp_blocks": 1,
        "block_rams": 0,
        "shares": {},
        "error": None,
    },
    "remarks": [],
    "stream": {
        "tdata_width": 32,
        "number": "fixed",
        "header": {},
        "options": {},
        "status": {},
        "functions": {"id": 0},
        "slots": [],
        "priority": [],
    },
    "inputs": {},
    "optional_inputs": {},
    "outputs": {},
    "optional_outputs": {},
    "roots": [],
}
