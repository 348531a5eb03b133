"""`regard doctor`: one page for a bug report; exit 1 and the reason where something that should work does not."""

from __future__ import annotations

import io
import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement
from rich.console import Console

from regard.cli.doctor import Findings, libraries, machine, page, speed
from regard.fast import whole_search
from regard.private import Feature, feature

Command = Callable[..., tuple[int, str, str]]
REPOSITORY = Path(__file__).parents[2]


def only(monkeypatch: pytest.MonkeyPatch, title: str) -> None:
    """Let the doctor examine one thing."""
    monkeypatch.setattr(page, "PAGE", {title: page.PAGE[title]})


def found(section: dict, name: str) -> dict:
    (one,) = [one for one in section["findings"] if one["name"] == name]
    return one


def test_the_page_tells_what_is_here(
    regard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WANDB_API_KEY", "geheim")
    monkeypatch.setenv("REGARD_TOKEN", "geheim")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "data").write_bytes(b"x" * 1_230_000)
    code, out, err = regard("doctor", "--json", str(tmp_path / "page.json"))
    told = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    assert code == (1 if told["wrong"] else 0), err
    sections = {one["title"]: one for one in told["sections"]}
    versions = {one["name"]: one["value"] for one in sections["Versions"]["findings"]}
    assert versions["torch"] == metadata.version("torch") and versions["Python"] == platform.python_version()
    devices = [one["name"] for one in sections["Devices"]["findings"] if one["state"] == "on"]
    assert ("cuda:0" in devices) == torch.cuda.is_available() and "cpu" in devices
    assert found(sections["Extras"], "figures")["value"] == f"matplotlib {metadata.version('matplotlib')}"
    assert found(sections["Kernels"], "trial")["state"] == "on"
    assert any("compiled for" in one["value"] for one in sections["Kernels"]["findings"])
    assert found(sections["Folders"], "cache")["reason"].startswith("1.2 MB")
    assert (
        "geheim" not in out + json.dumps(told)
        and found(sections["Settings"], "REGARD_TOKEN")["value"] == "(set)"
    )
    for title in page.PAGE:
        assert title in out or not sections[title]["findings"]


@pytest.mark.parametrize("width", [40, 80])
def test_it_is_as_wide_as_the_terminal(width: int) -> None:
    sections = [
        Findings("Versions", tuple(machine.versions())),
        Findings("Extras", tuple(libraries.extras())),
    ]
    out = io.StringIO()
    page.printed(sections, Console(file=out, width=width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert "✓ everything that should work does" in lines or page.wrong(sections)
    assert "\x1b" not in out.getvalue()


def test_a_broken_function_is_told_with_its_reason(regard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature, "_features", [])
    Feature("a sum of torch", "sums take twice as long", lambda: 1 / 0)
    Feature("a kernel of a GPU", "it is slow", lambda: 1 / 0, absent=lambda: "there is no such GPU")
    Feature("a product of torch", "products take twice as long", lambda: len)
    only(monkeypatch, "Functions of other packages")
    code, out, _ = regard("doctor")
    assert code == 1
    assert "✗ a sum of torch" in out and "ZeroDivisionError: division by zero; sums take twice as long" in out
    assert "– a kernel of a GPU" in out and "there is no such GPU" in out and "✓ a product of torch" in out
    assert "✗ should work and does not: Functions of other packages: a sum of torch" in out
    code, out, err = regard("doctor", "--json", "-")
    assert code == 1 and json.loads(out)["wrong"] == ["Functions of other packages: a sum of torch"]
    assert "a sum of torch" in err


def test_a_library_that_is_missing_or_old_is_told_with_the_remedy(
    regard: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = [Requirement("torch>=99"), Requirement("nothing-like-it>=1"), Requirement("numpy>=1")]
    monkeypatch.setattr(libraries, "_requirements", lambda: needed)
    only(monkeypatch, "Libraries")
    code, out, _ = regard("doctor")
    assert code == 1
    assert "✗ torch" in out and "regard needs torch>=99" in out and "Run: pip install 'torch>=99'" in out
    assert "✗ nothing-like-it" in out and "not installed" in out and "numpy" not in out


def test_a_copy_that_is_not_installed_is_told_and_knows_its_libraries(
    regard: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        if name == "regard":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    version = metadata.version
    installed = {str(one) for one in libraries._requirements()}
    monkeypatch.setattr(metadata, "version", absent)
    monkeypatch.setattr(metadata, "requires", absent)
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {Requirement(text).name for text in project["dependencies"]}
    found = libraries._requirements()
    assert {one.name for one in found if one.marker is None} <= named <= {one.name for one in found}
    assert len(found) == len(installed)
    monkeypatch.setattr(page, "PAGE", {one: page.PAGE[one] for one in ("Versions", "Libraries", "Extras")})
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = regard("doctor")
    assert code == 0 and f"not installed: Python finds it in {REPOSITORY / 'regard'}" in out
    assert f"required {len(named)} libraries" in out and "matplotlib" in out
    monkeypatch.setattr(libraries, "PROJECT", REPOSITORY / "nothing.toml")
    code, out, _ = regard("doctor")
    assert code == 0 and "required unknown  regard is not installed" in out and "matplotlib" not in out


def test_an_examination_that_fails_does_not_end_the_page(
    regard: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> list:
        raise OSError("torch cannot be loaded")

    monkeypatch.setattr(page, "PAGE", {"Devices": broken, "Versions": machine.versions})
    code, out, _ = regard("doctor")
    assert code == 1 and "OSError: torch cannot be loaded" in out and "accelerate" in out


def test_a_wrong_kernel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import contextmanager

    import regard.structures

    class Chain:
        def __init__(self, potentials: torch.Tensor) -> None:
            self.log_partition = torch.tensor([2.0 + plain])

    @contextmanager
    def plainly():
        nonlocal plain
        plain = 1
        yield

    plain = 0
    monkeypatch.setattr(regard.structures, "LinearChain", Chain)
    monkeypatch.setattr("regard.structures.kernels.plainly", plainly)
    told = speed._tried()
    assert told.state == "wrong" and told.reason == "the kernel of a linear chain gives 2, plain code 3"


@pytest.mark.parametrize("lacking", ["", "This CPU does not multiply bytes: it has no AVX-512 VNNI."])
def test_a_path_for_which_the_cpu_lacks_instructions_is_off(
    lacking: str, regard: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_search, "bytes_lack", lambda: lacking)
    only(monkeypatch, "Fast paths")
    code, out, _ = regard("doctor", "--json", "-")
    (section,) = json.loads(out)["sections"]
    assert code == 0 and found(section, "beam-cpu")["state"] == "on"
    for name in ("beam-int8", "greedy-int8"):
        told = found(section, name)
        assert (told["state"], told.get("reason", "")) == ("off" if lacking else "on", lacking)


def test_every_extra_has_a_purpose() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(libraries.PURPOSES) == set(project["optional-dependencies"]) - {"all", "dev", "release"}


PLUGINS = """
import json
from regard.cli.doctor import libraries
print(json.dumps({one.name: [one.state, one.reason] for one in libraries.plugins()}))
"""


def test_packages_with_parts_are_listed_and_a_broken_one_is_told(tmp_path: Path) -> None:
    for name, code in {"whole": "", "broken": "raise KeyError('gone')"}.items():
        (tmp_path / f"{name}_parts.py").write_text(code, encoding="utf-8")
        about = tmp_path / f"{name}-0.1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
        (about / "entry_points.txt").write_text(f"[regard.parts]\n{name} = {name}_parts\n")
    path = os.pathsep.join([str(tmp_path), str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", PLUGINS],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["whole"] == ["on", "adds no part"]
    assert told["broken"] == ["wrong", "cannot be loaded: KeyError: 'gone'"]
