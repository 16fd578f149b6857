"""External forces as the algorithms take them."""


def wrenches(fext):
    """Convert external forces (N, bodies, 6), [force; moment], to wrenches: moment, then force."""
    return {i: (tuple(fext[:, i, 3:].T), tuple(fext[:, i, :3].T)) for i in range(fext.shape[1])}
