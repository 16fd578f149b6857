"""The registers of ``accelerator_axi``: their description, and what is made of it."""
