"""Write the report on a folder that ``generate`` wrote."""

from __future__ import annotations

from pathlib import Path

from rbdhw.design.digests import MANIFEST, digest_of, json_object, read_manifest, told_with_version
from rbdhw.design.entry import parse_entry, told_within
from rbdhw.design.manifest import is_software, parse_manifest
from rbdhw.design.software_manifest import SoftwareManifest
from rbdhw.page.contents import design_page, software_page
from rbdhw.robot.serialize import robot_from_json
from rbdhw.runtime.build_folder import make_build_folder
from rbdhw.runtime.extras import check_installed
from rbdhw.runtime.files import check_file, replace_file

PAGE = "report.html"


def write_report(directory: Path, output: Path | None = None) -> Path:
    """Write the report on a design's folder and return its path.

    Parameters
    ----------
    directory
        The folder.
    output
        The file to write; by default ``report.html`` in the folder's ``build-report``, which is removed with
        the design that it describes.

    Raises
    ------
    InputError
        The folder is not complete or was changed, the file cannot be written, or Matplotlib is missing.
    """
    check_installed("matplotlib")
    if output is not None:
        check_file(output)
    page = _page(directory)
    path = output or make_build_folder(directory, "report") / PAGE
    with replace_file(path) as made:
        made.write_text(page, encoding="utf-8")
    return path


def _page(directory: Path) -> str:
    manifest, digest = read_manifest(directory), digest_of(directory)
    with told_with_version(manifest):
        robot = robot_from_json(json_object(directory / "robot.json"))
        with told_within(directory / MANIFEST):
            if is_software(manifest):
                return software_page(parse_entry(SoftwareManifest, manifest), robot, str(directory), digest)
            return design_page(parse_manifest(manifest), robot, str(directory), digest)
