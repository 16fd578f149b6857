"""Sphinx's settings: pages in Markdown, the command line as the program describes it, and the docstrings.

``<!-- commands -->`` in a page stands for the reference of all commands and options.
"""

from importlib.metadata import version as version_of
from itertools import pairwise
from typing import Any

import typer
from numpydoc.docscrape import NumpyDocString
from sphinx.application import Sphinx
from typer.cli import get_docs_for_click

from rbdhw.cli.app import app as command_line

project = "rbdhw"
author = "rbdhw contributors"
project_copyright = "rbdhw contributors"
version = release = version_of("rbdhw")

extensions = ["myst_parser", "sphinx.ext.apidoc", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["api/modules.rst"]

html_theme = "furo"
html_title = "rbdhw"
smartquotes = False  # they would make dashes of the options in help texts
html_copy_source = False
myst_heading_anchors = 3

apidoc_modules = [  # a page for each folder of the package, written anew by every build
    {
        "path": "../rbdhw",
        "destination": "api",
        "module_first": True,
        "automodule_options": {"members", "show-inheritance"},
    }
]
autodoc_mock_imports = ["crocoddyl"]  # it is installed in an environment of its own
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
NumpyDocString.sections["Members"] = []  # of components; shown as attributes, see rename_members

COMMANDS = "<!-- commands -->"


def commands() -> str:
    """All commands with their arguments and options, in Markdown."""
    group = typer.main.get_command(command_line)
    text = get_docs_for_click(obj=group, ctx=typer.Context(group, info_name="rbdhw"), name="rbdhw")
    return text.partition("\n## ")[2].join(("## ", ""))


def insert_commands(_: Sphinx, __: str, source: list[str]) -> None:
    """Put the commands where a page has their mark."""
    if COMMANDS in source[0]:
        source[0] = source[0].replace(COMMANDS, commands())


def rename_members(*arguments: Any) -> None:
    """Rename a component's section Members to Attributes, which numpydoc shows as a table."""
    lines = arguments[-1]
    for place, (title, rule) in enumerate(pairwise(lines)):
        if (title, rule) == ("Members", "-------"):
            lines[place : place + 2] = "Attributes", "----------"


def setup(app: Sphinx) -> None:
    """Connect the two functions; docstrings are changed before numpydoc reads them."""
    app.connect("source-read", insert_commands)
    app.connect("autodoc-process-docstring", rename_members, priority=100)
