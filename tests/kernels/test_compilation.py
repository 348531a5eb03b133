"""Compiled kernels are cached on disk, never stale, and compiled once by concurrent processes."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import filelock
import numba
import pytest

import regard.fast.cpu
from regard.structures.kernels.cpu import compilation

SCRIPT = """
import numpy as np
from regard.fast.cpu import best
from pathlib import Path
from regard.structures.kernels.cpu.compilation import folder
print("ready", flush=True)
input()
kept = folder(Path(best.__file__).parent)
found = np.empty(1, np.float32)
best.normalize_rows(np.zeros((1, 8), np.float32), found, 0, 1)
print(float(np.exp(found[0])), kept, len(best.normalize_rows.stats.cache_hits))
"""


def test_what_only_kernels_call_has_no_machine_code_of_its_own() -> None:
    @compilation.part
    def one_more(number):  # type: ignore[no-untyped-def]
        return number + 1

    @compilation.part
    def three_more(number):  # type: ignore[no-untyped-def]
        return one_more(one_more(one_more(number)))

    @numba.njit
    def outside(number):  # type: ignore[no-untyped-def]
        return three_more(number)

    assert outside(4) == 7 and outside(0.5) == 3.5
    for inner in (one_more, three_more):
        assert len(inner.overloads) == 2
        for made in inner.overloads.values():
            assert made.library.get_pointer_to_function(made.fndesc.llvm_func_name) == 0


def run(package: Path, cache: Path, processes: int = 1) -> list[tuple[float, Path, int]]:
    """Start processes that compile at the same moment; return what each prints. Bytecode caching is off,
    because Python checks only the length and date of a file."""
    kept = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment = {**kept, "PYTHONPATH": str(package), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["XDG_CACHE_HOME"] = str(cache)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = [
        subprocess.Popen([sys.executable, "-c", SCRIPT], text=True, env=environment, cwd=package, **pipes)
        for _ in range(processes)
    ]
    for process in started:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    found = []
    for process in started:
        printed, told = process.communicate()
        assert process.returncode == 0, told
        value, folder, hits = printed.split()
        found.append((float(value), Path(folder), int(hits)))
    return found


@pytest.mark.thorough
def test_a_change_in_what_a_kernel_inlines_is_compiled_anew(tmp_path):
    """`best` calls `exponential`, which is in another file and folder. Of two processes, one compiles while the other
    waits and then loads from the cache. A copy of the same sources elsewhere loads it too."""
    home, copy, cache = Path(regard.__file__).parent, tmp_path / "one" / "regard", tmp_path / "cache"
    without = shutil.ignore_patterns("__pycache__")
    for name in ("structures/kernels", "fast", "private", "storage", "errors"):
        shutil.copytree(home / name, copy / name, ignore=without)
    for name in ("__init__.py", "structures/__init__.py", "fast/__init__.py"):
        (copy / name).write_text("")
    (value, folder, hits), second = sorted(run(copy.parent, cache, processes=2), key=lambda found: found[2])
    assert (round(value, 5), hits) == (8, 0)
    assert second == (value, folder, 1)
    assert folder.is_relative_to(cache / "regard")
    shutil.copytree(copy.parent, tmp_path / "two")
    assert run(tmp_path / "two", cache) == [second]
    helper = copy / "structures" / "kernels" / "cpu" / "exponential.py"
    text = helper.read_text()
    assert text.count("return (even + u * odd) * power") == 1
    # Same length and date, so that neither reveals the change.
    stamp = helper.stat()
    helper.write_text(text.replace("return (even + u * odd) * power", "return (even + u * odd) * 2.0e0"))
    os.utime(helper, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    [(changed, other, hits)] = run(copy.parent, cache)
    assert (round(changed, 5), hits) == (16, 0) and other != folder


HOLDER = """
import sys, time
from pathlib import Path
from regard.structures.kernels.cpu.compilation import turn
with turn(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_nobody_waits_for_a_process_that_was_killed_or_hangs(tmp_path, monkeypatch):
    place = tmp_path / "kernel.lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(place)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(compilation, "PATIENCE", 0.2)
        began = time.monotonic()
        with compilation.turn(place):
            assert time.monotonic() - began >= 0.2
        monkeypatch.setattr(compilation, "PATIENCE", 60.0)
        entered = threading.Event()

        def enter() -> None:
            with compilation.turn(place):
                entered.set()

        waiting = threading.Thread(target=enter, daemon=True)
        waiting.start()
        assert not entered.wait(0.2)
    finally:
        holder.kill()
        holder.wait()
    assert entered.wait(20)
    waiting.join()


def no_locks(handle, *, blocking):
    raise OSError(errno.ENOLCK, "no locks available")


@pytest.mark.parametrize("locks", [False, None])
def test_without_locks_every_process_goes_on(locks, tmp_path, monkeypatch):
    """Without a folder for locks, or on a file system without locks."""
    if locks is None:
        monkeypatch.setattr(filelock, "lock_descriptor", no_locks)
    with compilation.turn(tmp_path / ("absent" if locks is False else ".") / "kernel.lock") as nothing:
        assert nothing is None


def test_kernels_of_old_sources_are_removed(tmp_path, monkeypatch):
    old = time.time() - 2 * compilation.UNUSED
    for number in range(5):
        (tmp_path / f"kernels-{number}").mkdir()
        (tmp_path / f"kernels-{number}" / "index.nbi").touch()
        os.utime(tmp_path / f"kernels-{number}", (old + number, old + number))
    (tmp_path / "kernels-recent").mkdir()  # another checkout's, which may be in use
    (tmp_path / "notes").mkdir()
    monkeypatch.setattr(compilation.numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compilation, "NEWEST", 3)
    made = compilation.folder.__wrapped__()
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {made.name, "kernels-recent", "kernels-4", "notes"}


def test_every_file_counts(tmp_path, monkeypatch):
    home, without = Path(compilation.__file__).parent, shutil.ignore_patterns("__pycache__")
    copied = shutil.copytree(home, tmp_path / "cpu", ignore=without)
    monkeypatch.setattr(compilation, "HERE", copied)
    beside = shutil.copytree(home, tmp_path / "beside", ignore=without)
    found = {compilation.fingerprint.__wrapped__(beside)}
    for count, path in enumerate([*sorted(copied.glob("*.py")), *sorted(beside.glob("*.py"))], 2):
        path.write_text(path.read_text() + "\n")
        found.add(compilation.fingerprint.__wrapped__(beside))
        assert len(found) == count, path.name


def test_nothing_is_compiled_on_the_promise_of_finite_numbers():
    for path in [*compilation.HERE.glob("*.py"), *Path(regard.fast.cpu.__file__).parent.glob("*.py")]:
        text = path.read_text()
        assert "njit(" not in text or path.name == "compilation.py", path.name
        assert "parallel=True" not in text and "prange" not in text, path.name
    for decorate in (compilation.kernel, compilation.part, compilation.reduction, compilation.inlined):
        flags = decorate(lambda x: x).targetoptions["fastmath"]
        assert flags <= {"contract", "reassoc", "nsz"}
