"""The robot as matrices: Featherstone's system model, in which mimics are independent joints.

The *links* of a system are the robot's bodies, and a massless link inside each universal joint. Every link
has its own velocities, also that of a mimic; ``G`` maps the robot's velocities to those of all links.

Source: Featherstone, *Rigid Body Dynamics Algorithms*, section 4.6; for ``G``, chapter 3 (explicit
motion constraints).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from rbdhw.golden.joints import constant_parts, joint_transform, motion_subspace
from rbdhw.golden.spatial import Array, blocks, skew, transform
from rbdhw.robot.model import BASE, Inertia, Joint, Placement, Robot


@dataclass(frozen=True)
class Link:
    """One link: its constants and the indices of its coordinates.

    ``X_tree`` (6, 6) places the joint in the parent. ``S`` (6, nv_i) is the motion subspace, constant in the
    link's frame. The joint's coordinates are ``ratio`` times the robot's at ``q``, plus ``offset``. Its
    velocities are ``ratio`` times the robot's at ``driver``; ``v`` is their slice among those of all links.
    ``body`` is the robot's body whose external force acts on the link (None inside a joint), and ``X_link``
    maps motion into the frame of that force.
    """

    parent: int
    joint: Joint
    X_tree: Array
    S: Array
    inertia: Array
    q: slice
    ratio: float
    offset: float
    driver: slice
    v: slice
    body: int | None
    X_link: Array

    def X(self, q: Array) -> Array:
        """Return the transform (N, 6, 6) from the parent's frame at the robot's ``q`` (N, nq)."""
        return joint_transform(self.joint, self.ratio * q[:, self.q] + self.offset) @ self.X_tree


@dataclass(frozen=True)
class System:
    """All links, each after its parent, and ``G`` (velocities of all links, nv).

    ``armature`` and ``damping`` are the rotor inertia and the viscous friction of each velocity of the links.
    """

    name: str
    links: tuple[Link, ...]
    G: Array
    armature: Array
    damping: Array


@lru_cache(maxsize=32)
def system(robot: Robot) -> System:
    """Return the system model of ``robot``."""
    links: list[Link] = []
    index_of = {BASE: BASE}
    for i, body in enumerate(robot.bodies):
        links.extend(_links(robot, i, index_of[body.parent], len(links), links[-1].v.stop if links else 0))
        index_of[i] = len(links) - 1
    G = np.zeros((links[-1].v.stop if links else 0, robot.nv))
    for link in links:
        G[link.v, link.driver] = link.ratio * np.eye(link.v.stop - link.v.start)
    return System(robot.name, tuple(links), G, np.array(robot.armature), np.array(robot.damping))


def loaded_system(model: System, robot: Robot, parameters: Array) -> System:
    """Return the model with the inertias that tasks bring.

    ``parameters`` (N, links, 10) has for each of the links given at run time its mass, its centre of mass,
    and its inertia ``(xx, xy, xz, yy, yz, zz)`` about that centre, in the link's frame.
    """
    assert robot.loaded is not None
    index_of = {
        robot.bodies[link.body].name: i for i, link in enumerate(model.links) if link.body is not None
    }
    links = list(model.links)
    for k, name in enumerate(robot.loaded.links):
        link = links[index_of[name]]
        inertia = link.X_link.T @ _inertia_about(parameters[:, k]) @ link.X_link
        links[index_of[name]] = replace(link, inertia=inertia)
    return replace(model, links=tuple(links))


def _inertia_about(parameters: Array) -> Array:
    """Return spatial inertias (N, 6, 6) about the frame's origin of parameters (N, 10)."""
    mass = parameters[:, :1, np.newaxis]
    xx, xy, xz, yy, yz, zz = parameters[:, 4:].T
    central = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), -1, 0)
    inertias = np.zeros((len(parameters), 6, 6), parameters.dtype)
    across = np.cross(np.eye(3), parameters[:, np.newaxis, 1:4])  # the matrix of c x
    inertias[:, :3, :3] = central - mass * across @ across
    inertias[:, :3, 3:] = mass * across
    inertias[:, 3:, :3] = -mass * across
    inertias[:, 3:, 3:] = mass * np.eye(3)
    return inertias


def unit_inertias() -> list[Array]:
    """Return the spatial inertias (6, 6) of a unit of mass, first moment, and xx, xy, yy, xz, yz, zz."""
    inertias = [
        _inertia(Inertia(1.0)),
        *(_inertia(Inertia(0.0, (x, y, z))) for x, y, z in np.eye(3).tolist()),
    ]
    for k in (0, 1, 3, 2, 4, 5):  # of xx, xy, xz, yy, yz, zz
        xx, xy, xz, yy, yz, zz = np.eye(6)[k].tolist()
        inertias.append(_inertia(Inertia(rotational=(xx, xy, xz, yy, yz, zz))))
    return inertias


def _links(robot: Robot, i: int, parent: int, index: int, velocity: int) -> Iterator[Link]:
    """Yield the links of body ``i``: the first has index ``index`` and hangs from link ``parent``.

    Their velocities start at ``velocity`` among those of all links.
    """
    body, parts = robot.bodies[i], constant_parts(robot.bodies[i].joint)
    q, driver = robot.q_of[i].start, robot.v_of[i].start
    ratio, offset = _coupling(body.joint)
    for k, joint in enumerate(parts):
        nq, nv, last = joint.kind.nq, joint.kind.nv, k == len(parts) - 1
        yield Link(
            parent=parent if k == 0 else index + k - 1,
            joint=joint,
            X_tree=_placement_transform(joint.placement),
            S=motion_subspace(joint),
            inertia=_inertia(body.inertia if last else Inertia()),
            q=slice(q, q + nq),
            ratio=ratio,
            offset=offset,
            driver=slice(driver, driver + nv),
            v=slice(velocity, velocity + nv),
            body=i if last else None,
            X_link=_placement_transform(body.link_frame),
        )
        q, driver, velocity = q + nq, driver + nv, velocity + nv


def _coupling(joint: Joint) -> tuple[float, float]:
    """Return ratio and offset with which a joint's coordinate follows from the robot's."""
    if joint.mimic is None:
        return 1.0, joint.offset
    return joint.mimic.multiplier, joint.mimic.offset + joint.offset


def _placement_transform(placement: Placement) -> Array:
    return transform(np.array(placement.rotation).T, np.array(placement.translation))


def _inertia(inertia: Inertia) -> Array:
    """Return the spatial inertia (6, 6) about the frame's origin (Featherstone, 2.13)."""
    xx, xy, xz, yy, yz, zz = inertia.rotational
    hx = skew(np.array(inertia.first_moment))
    return blocks(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), hx, hx.T, inertia.mass * np.eye(3))
