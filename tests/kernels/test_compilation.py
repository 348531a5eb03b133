"""Compiled kernels are kept on disk, and never stale."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import regard.kernels
from regard.kernels.cpu import compilation

SCRIPT = """
import torch
from regard.kernels.cpu import best
from regard.kernels.cpu.compilation import folder
print(float(best.normalisers(torch.zeros(1, 8)).exp()), folder(), len(best._normalise_rows.stats.cache_hits))
"""


def run(package: Path) -> tuple[float, Path, int]:
    kept = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment = {**kept, "PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=package)
    assert done.returncode == 0, done.stderr
    value, folder, hits = done.stdout.split()
    return float(value), Path(folder), int(hits)


def test_a_change_in_what_a_kernel_inlines_is_compiled_anew(tmp_path):
    """Of this package, `best` calls `exponential`, which is another file."""
    home = Path(regard.kernels.__file__).parent
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(home, tmp_path / "regard" / "kernels", ignore=without)
    shutil.copy(home.parent / "private.py", tmp_path / "regard")
    (tmp_path / "regard" / "__init__.py").touch()
    value, folder, hits = run(tmp_path)
    assert (round(value, 5), hits) == (8, 0)
    assert folder.is_relative_to(tmp_path / "regard" / "kernels" / "cpu" / "__pycache__")
    assert run(tmp_path) == (value, folder, 1)
    helper = tmp_path / "regard" / "kernels" / "cpu" / "exponential.py"
    text = helper.read_text()
    assert text.count("return (even + u * odd) * power") == 1
    # of the same length and date: neither gives the change away
    stamp = helper.stat()
    helper.write_text(text.replace("return (even + u * odd) * power", "return (even + u * odd) * 2.0e0"))
    os.utime(helper, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    changed, other, hits = run(tmp_path)
    assert (round(changed, 5), hits) == (16, 0) and other != folder


def test_kernels_of_old_sources_are_removed(tmp_path, monkeypatch):
    old = time.time() - 2 * compilation.UNUSED
    for number in range(5):
        (tmp_path / f"kernels-{number}").mkdir()
        (tmp_path / f"kernels-{number}" / "index.nbi").touch()
        os.utime(tmp_path / f"kernels-{number}", (old + number, old + number))
    (tmp_path / "kernels-recent").mkdir()  # another checkout's, perhaps at work
    (tmp_path / "notes").mkdir()
    monkeypatch.setattr(compilation.numba.config, "CACHE_DIR", str(tmp_path))
    made = compilation.folder.__wrapped__()
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {made.name, "kernels-recent", "kernels-4", "notes"}


def test_every_file_counts(tmp_path, monkeypatch):
    copied = shutil.copytree(Path(compilation.__file__).parent, tmp_path / "cpu")
    monkeypatch.setattr(compilation, "__file__", str(copied / "compilation.py"))
    fingerprint = compilation.fingerprint.__wrapped__
    found = {fingerprint()}
    for count, path in enumerate(sorted(copied.glob("*.py")), 2):
        path.write_text(path.read_text() + "\n")
        found.add(fingerprint())
        assert len(found) == count, path.name


def test_nothing_is_compiled_on_the_promise_of_finite_numbers():
    for path in Path(compilation.__file__).parent.glob("*.py"):
        text = path.read_text()
        assert "njit(" not in text or path.name == "compilation.py", path.name
        assert "parallel=True" not in text and "prange" not in text, path.name
    for decorate in (compilation.kernel, compilation.part, compilation.reduction, compilation.inlined):
        flags = decorate(lambda x: x).targetoptions["fastmath"]
        assert flags <= {"contract", "reassoc", "nsz"}
