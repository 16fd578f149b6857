"""What `rbdhw.crocoddyl` takes of Crocoddyl, in Python: base classes, and costs of states and forces."""

from types import SimpleNamespace

import numpy as np


class ActionDataAbstract:
    def __init__(self, _model):
        self.xnext, self.cost = None, 0.0


class ActionModelAbstract:
    def __init__(self, state, nu, nr):
        self.state, self.nu, self.nr = state, nu, nr


class DataCollectorActMultibody:
    def __init__(self, pinocchio, actuation):
        self.pinocchio, self.actuation = pinocchio, actuation


class ShootingProblem:
    """A problem as the C++ computes it: knot after knot."""

    def __init__(self, x0, running, terminal):
        self.x0, self.runningModels, self.terminalModel, self.nthreads = x0, running, terminal, 2
        self.runningDatas = [model.createData() for model in running]
        self.terminalData = terminal.createData()

    def _each(self, name, xs, us):
        for model, data, x, u in zip(self.runningModels, self.runningDatas, xs, us, strict=False):
            getattr(model, name)(data, x, u)
        getattr(self.terminalModel, name)(self.terminalData, xs[-1])
        return sum(data.cost for data in (*self.runningDatas, self.terminalData))

    def calc(self, xs, us):
        return self._each("calc", xs, us)

    def calcDiff(self, xs, us):
        return self._each("calcDiff", xs, us)


class Costs:
    """Half the squares of states and forces."""

    nr = 1

    def createData(self, collector):
        return SimpleNamespace(collector=collector)

    def calc(self, data, x, u=None):
        data.cost = 0.5 * (x @ x + (0.0 if u is None else u @ u))

    def calcDiff(self, data, x, u=None):
        data.Lx, data.Lxx = x, np.eye(len(x))
        if u is not None:
            data.Lu, data.Luu, data.Lxu = u, np.eye(len(u)), np.zeros((len(x), len(u)))


class Actuation:
    """Motors with a gear, and springs that pull the joints back."""

    def __init__(self, nv, gear, stiffness):
        self.nu, self.gear, self.stiffness = nv, gear, stiffness

    def createData(self):
        return SimpleNamespace()

    def calc(self, data, x, u):
        data.tau = self.gear * u - self.stiffness * x[: self.nu]

    def calcDiff(self, data, x, _u):
        data.dtau_du = self.gear * np.eye(self.nu)
        data.dtau_dx = -self.stiffness * np.eye(self.nu, len(x))


def action(model, h):
    """Return an integrated action of a robot of Pinocchio."""
    actuation = Actuation(model.nv, gear=2.0, stiffness=3.0)
    differential = SimpleNamespace(pinocchio=model, costs=Costs(), actuation=actuation)
    state, bound = SimpleNamespace(nq=model.nq), np.full(model.nv, np.inf)
    return SimpleNamespace(state=state, differential=differential, dt=h, u_lb=-bound, u_ub=bound)
