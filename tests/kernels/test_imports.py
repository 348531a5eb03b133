"""The kernels do not import their users, and import no compiler before a kernel is used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import regard.structures.kernels


def test_the_kernels_import_nothing_above():
    found = {
        match
        for path in Path(regard.structures.kernels.__file__).parent.rglob("*.py")
        for match in re.findall(r"^\s*(?:from|import) (regard[\w.]*)", path.read_text(), re.MULTILINE)
    }
    assert {name for name in found if not name.startswith("regard.structures.kernels")} == {
        "regard.private",
        "regard.private.onednn",
    }


def test_no_compiler_is_loaded_before_it_is_used():
    script = (
        "import sys, regard.structures, regard.nn; print({'numba', 'triton', 'llvmlite'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr
