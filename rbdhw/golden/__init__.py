"""The golden model: every function in double precision, in a second and independent derivation.

It shares no code with :mod:`rbdhw.dynamics`. The tests compare it with Pinocchio.
"""

from rbdhw.golden.contacts import contact_jacobians, loop_gaps
from rbdhw.golden.evaluation import evaluate
from rbdhw.golden.integrators import integrate
from rbdhw.golden.tasks import inputs_of, with_unit_quaternions

__all__ = ["contact_jacobians", "evaluate", "inputs_of", "integrate", "loop_gaps", "with_unit_quaternions"]
