"""Robot descriptions: a URDF becomes a frozen tree of bodies, and rewrites of that tree."""
