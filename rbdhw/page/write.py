"""Write the report on a folder that ``generate`` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbdhw.control.table import STUDY
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


def write_report(directory: Path, output: Path | None = None, study: Path | None = None) -> Path:
    """Write the report on a design's folder and return its path.

    Parameters
    ----------
    directory
        The folder.
    output
        The file to write; by default ``report.html`` in the folder's ``build-report``, which is removed with
        the design that it describes.
    study
        The folder of a study of number formats, which the page shows, too.

    Raises
    ------
    InputError
        A folder is not complete or was changed, the file cannot be written, or Matplotlib is missing.
    """
    check_installed("matplotlib")
    if output is not None:
        check_file(output)
    page = _page(directory, json_object(study / STUDY) if study else None)
    path = output or make_build_folder(directory, "report") / PAGE
    with replace_file(path) as made:
        made.write_text(page, encoding="utf-8")
    return path


def _page(directory: Path, study: Mapping[str, Any] | None) -> str:
    manifest, digest = read_manifest(directory), digest_of(directory)
    with told_with_version(manifest):
        robot = robot_from_json(json_object(directory / "robot.json"))
        with told_within(directory / MANIFEST):
            if is_software(manifest):
                return software_page(
                    parse_entry(SoftwareManifest, manifest), robot, str(directory), digest, study
                )
            return design_page(parse_manifest(manifest), robot, str(directory), digest, study)
