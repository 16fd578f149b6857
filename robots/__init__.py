"""The bundled robot descriptions, as URDF files without meshes."""
