"""`regard studio`: the address it prints, its port, its end, and what is told when it cannot start."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import regard
from regard.errors import RegardError
from regard.studio.serving import PORT, bind


def test_the_command_serves_until_ctrl_c(folders: dict[str, Path]) -> None:
    words = [
        sys.executable,
        "-m",
        "regard",
        "studio",
        str(folders["pointer-hull"]),
        "--no-browser",
        "--device",
        "cpu",
    ]
    running = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # what a shell starts in the background is deaf to Ctrl-C, and so are its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert running.stdout is not None
    url = running.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", url)
    with httpx.Client(follow_redirects=True, timeout=60) as visitor:
        assert visitor.get(url).status_code == 200
        told = visitor.get(url.partition("?")[0] + "api/runs").json()
        assert [one["name"] for one in told["runs"]] == ["pointer-hull"]
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert running.returncode == 0 and "Traceback" not in err
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


def test_without_its_folder_everything_else_is_whole(tmp_path: Path) -> None:
    package = Path(regard.__file__).parent
    shutil.copytree(
        package, tmp_path / "regard", ignore=shutil.ignore_patterns("kernels-*", "studio", "__pycache__")
    )
    script = (
        "import sys; sys.meta_path[:] = [one for one in sys.meta_path "
        "if not getattr(one, '__module__', '').startswith('__editable__')]\n"
        "import regard; from regard.cli import main; assert 'studio' not in dir(regard)\n"
        "sys.argv = ['regard', *sys.argv[1:]]; main()"
    )
    for words, status in (["--help"], 0), (["studio", "x"], 2):
        done = subprocess.run(
            [sys.executable, "-c", script, *words],
            env={**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "80"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stderr
        assert ("No such command" in done.stderr) if status else ("studio" not in done.stdout)


def test_a_taken_port_is_told_and_the_next_free_one_is_found() -> None:
    with bind(None) as first:
        taken = first.getsockname()[1]
        assert taken >= PORT
        with bind(None) as second:
            assert second.getsockname()[1] > taken or taken == PORT + 49
        with pytest.raises(RegardError, match=f"port {taken} is taken"):
            bind(taken)


def test_a_mistake_is_told_before_a_page_opens(tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(RegardError, match="no such folder"):
        regard.studio.start(tmp_path / "nothing", browser=False)
    with pytest.raises(RegardError, match="no run"):
        regard.studio.start(browser=False)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RegardError, match="no finished model"):
        regard.studio.start(folders["lm"], tmp_path / "empty", browser=False)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        with pytest.raises(RegardError, match="is taken"):
            regard.studio.start(folders["lm"], port=held.getsockname()[1], browser=False)


def test_a_missing_extra_is_told_with_its_remedy(folders: dict[str, Path]) -> None:
    script = (
        "import sys; sys.modules['uvicorn'] = None; sys.modules['starlette'] = None\n"
        "import regard\n"
        "try: regard.studio(sys.argv[1], browser=False)\n"
        "except regard.RegardError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(folders["lm"])], capture_output=True, text=True)
    assert "pip install 'regard[studio]'" in done.stdout, done.stderr


def test_a_run_that_cannot_be_loaded_says_why(tmp_path: Path, folders: dict[str, Path]) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in folders["pointer-hull"].iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    (broken / "model.safetensors").write_bytes(b"nothing")
    with regard.studio.start(broken, browser=False, device="cpu") as started, httpx.Client() as visitor:
        visitor.get(started.url)
        (told,) = visitor.get(f"http://127.0.0.1:{started.port}/api/runs", timeout=30).json()["runs"]
    assert "error" in told and str(broken) in told["error"]["where"]


def test_runs_of_one_name_are_told_apart(tmp_path: Path, folders: dict[str, Path]) -> None:
    copies = []
    for place in ("a", "b"):
        copy = tmp_path / place / "run"
        copy.mkdir(parents=True)
        for file in folders["pointer-hull"].iterdir():
            (copy / file.name).write_bytes(file.read_bytes())
        copies.append(copy)
    from regard.studio.runs import Runs

    runs = Runs([*copies, copies[0]])
    assert [run.name for run in runs] == ["run", "b/run", "a/run"]
    runs.stop()


def test_importing_regard_does_not_load_the_server() -> None:
    heavy = "starlette", "uvicorn", "torch"
    script = f"import sys, regard.cli.main, regard.studio; print({{*{heavy}}} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr


def test_a_studio_shows_its_address_in_a_notebook(studio: Any) -> None:
    assert studio.url.replace("&", "&amp;") in studio._repr_html_()
