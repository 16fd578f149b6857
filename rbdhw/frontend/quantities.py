"""The quantities that the functions of a task share, each recorded when a function first needs it."""

from __future__ import annotations

from rbdhw.frontend.contact_gradients import ContactGradients
from rbdhw.frontend.forward_dynamics import ForwardDynamics, symmetric
from rbdhw.frontend.gradients import Gradients
from rbdhw.frontend.inputs import Task
from rbdhw.frontend.integrators import Dynamics, Integrator, Slopes
from rbdhw.frontend.inverse_dynamics import InverseDynamics
from rbdhw.frontend.propagated_contacts import contacts_of
from rbdhw.frontend.second_quantities import SecondQuantities
from rbdhw.frontend.setting import Setting
from rbdhw.frontend.whole_body import WholeBody


class Quantities:
    """What functions are computed from, in the order in which one needs another.

    Members
    -------
    inverse_dynamics, forward_dynamics, gradients, second
        Those of motion and forces, each from the ones before.
    whole
        Those of the robot as one body.
    contacts, contact_gradients
        Those with contacts.
    integrator, contact_integrator
        Steps in time, without and with contacts.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting, self.robot, self.task = setting, setting.robot, setting.task
        self.inverse_dynamics = InverseDynamics(setting)
        self.forward_dynamics = ForwardDynamics(self.inverse_dynamics)
        self.gradients = Gradients(self.forward_dynamics)
        self.second = SecondQuantities(self.gradients)
        self.whole = WholeBody(setting)
        self.contacts = contacts_of(self.forward_dynamics)
        self.contact_gradients = ContactGradients(self.contacts, self.gradients)
        self.contact_integrator = Integrator(
            setting.recorder, self.robot, self.task, lambda _: self.contact_gradients.dynamics
        )
        self.integrator = Integrator(setting.recorder, self.robot, self.task, self.dynamics_at)

    def dynamics_at(self, task: Task) -> Dynamics:
        """Return forward dynamics at the state of a task, which may be a stage of a step."""
        if task is not self.task:
            recorder, algorithms = self.setting.recorder, self.setting.algorithms
            stage = Setting(recorder, self.robot, ("dfd",), (), algorithms, task)
            return Quantities(stage).dynamics_at(task)

        def slopes() -> Slopes:
            by_position, by_velocity = self.gradients.of_accelerations(self.gradients.at_solution)
            return Slopes(by_position, by_velocity, symmetric(self.forward_dynamics.inverse_to_use))

        return Dynamics(lambda: self.forward_dynamics.coordinate_accelerations, slopes)
