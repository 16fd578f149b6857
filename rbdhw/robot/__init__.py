"""Robot descriptions: read a URDF into a frozen tree of bodies, and rewrite that tree."""
