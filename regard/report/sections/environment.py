"""Where and with what the run was made, and the report."""

from __future__ import annotations

import os
import platform
import subprocess

from regard.inspect import PageSection
from regard.model.saving import versions
from regard.report.context import ReportContext, ReportedRun
from regard.report.sections.section import ReportSection


class EnvironmentSection(ReportSection):
    title = "Environment"

    def of_run(self, run: ReportedRun, context: ReportContext) -> PageSection:
        then, now = run.metrics.get("versions") or {}, versions()
        rows = [[name, str(then.get(name, "")), now.get(name, "")] for name in dict.fromkeys([*then, *now])]
        machine = f"{platform.system()} {platform.release()}, {os.cpu_count()} cores"
        rows.append(["machine", "", machine])
        rows.append(["seed", str(run.spec.training.seed), ""])
        commit = _commit()
        if commit:
            rows.append(["commit", "", commit])
        for name, digest in _files(run):
            rows.append([name, digest, ""])
        return PageSection(table=(("", "of the training", "of this report"), rows))


def _files(run: ReportedRun) -> list[tuple[str, str]]:
    """The data files of the training, with the beginnings of their hashes."""
    data = run.metrics.get("data") or {}
    return [(str(name), str(digest)[:16]) for name, digest in data.items() if isinstance(digest, str)]


def _commit() -> str:
    """The commit of the project in the working folder; empty if it has none."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, timeout=2, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()
