"""The golden model: every function in double precision, derived a second time and independently.

It shares no code with :mod:`rbdhw.dynamics`. The tests compare it with Pinocchio.
"""

from rbdhw.golden.dynamics import evaluate, inputs_of, with_unit_quaternions

__all__ = ["evaluate", "inputs_of", "with_unit_quaternions"]
