"""Commands with hostile input: one-line errors and exit 2; terminals receive only printable text."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

import pytest
import torch

from regard import Model
from regard.parts import names, part
from regard.reporting.console import safe_console
from tests.model.small import build, rows, spec

EVIL = "\x1b]52;c;aGVsbG8=\x07\u202e"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "model"
    build(spec(search={"max_length": 6})).save(folder)
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["predict", "RUN", "abc", "--device", "teapot"], "'teapot' cannot be used"),
        (["predict", "RUN", "abc", "--device", "cuda:99"], "'cuda:99' cannot be used"),
        (["predict", "RUN", "abc", "--device", "meta"], "'meta' cannot be used"),
        (["train", "reverse", "-o", "/proc/x"], "/proc/x"),
        (["predict", "RUN", "abc", "-o", "/proc/x"], "/proc/x"),
        (["predict", "RUN", "-f", "/dev/full/x"], "there is no such file"),
        (["predict", "RUN", "-f", "nulls.jsonl"], "nulls.jsonl:1: source is missing."),
        (["predict", "RUN", "-f", "objects.jsonl"], "objects.jsonl:1: source has an object, expected text"),
        (["predict", "RUN", "-f", "lists.jsonl"], "lists.jsonl:1: source has a list, expected text."),
        (["predict", "RUN", "a" * 5000], "more than max_length"),
        (["describe", "x" * 300], "error"),
        (["show", "RUN", "abc", "--look", "[" * 100_000], "error"),
        (["train", "deep.yaml"], "nested more than 50 levels deep"),
        (["train", "aliases.yaml"], "is a YAML alias"),
        (["predict", "RUN", "abc", "--set", "search.beam=1000000"], "expected less than or equal to 1000"),
    ],
)
def test_one_line_and_exit_2(
    regard, run: Path, tmp_path: Path, monkeypatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in (("nulls", None), ("objects", {}), ("lists", ["a"])):
        Path(f"{name}.jsonl").write_text(json.dumps({"source": value}) + "\n")
    Path("deep.yaml").write_text("a: " + "[" * 10_000)
    Path("aliases.yaml").write_text("a: &a [1]\nb: [*a, *a]")
    code, _, err = regard(*[str(run) if word == "RUN" else word for word in words])
    assert code == 2 and said in err.replace("\n", " "), err
    assert "Traceback" not in err


def test_numbers_and_truth_values_are_read_as_in_the_data(regard, run: Path, tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"source": 1.50}\n{"source": true}\n')
    code, out, _ = regard("predict", str(run), "-f", str(lines), "--json", "-")
    assert code == 0
    assert [json.loads(line)["input"] for line in out.splitlines()] == ["1.50", "true"]


def test_a_text_longer_than_a_file_name_is_answered(regard, run: Path) -> None:
    code, out, _ = regard("predict", str(run), "a" * 400)
    assert code == 0 and out.strip()


ON_A_TERMINAL = """
import json, sys
from regard.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["regard", *words]
    try:
        main()
    except SystemExit:
        pass
    print("=" * 20)
"""


def _on_a_terminal(*commands: list[str]) -> list[str]:
    """The output of each command on a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["COLUMNS"] = "200"
        os.execv(sys.executable, [sys.executable, "-c", ON_A_TERMINAL, json.dumps(commands)])
    said = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    os.waitpid(child, 0)
    return said.decode(errors="replace").split("=" * 20)


def _evil(folder: Path) -> None:
    """Save a model whose description and answers contain terminal control sequences."""
    evil = [type(row)({**row, "target": f"{EVIL}x"}) for row in rows(8)]
    model = build(spec(description=EVIL, search={"min_length": 4, "max_length": 6}), evil)
    word = int(model.columns["target"].encode(f"{EVIL}x")[0])
    size = len(model.columns["target"].vocabulary)
    found = [
        one for name, one in model.network.named_parameters() if name.endswith("bias") and len(one) == size
    ]
    with torch.no_grad():
        for bias in found:
            bias[word] = 50.0
    model.save(folder)


def test_a_terminal_gets_only_what_can_be_seen(tmp_path: Path) -> None:
    model = str(tmp_path / "model")
    _evil(tmp_path / "model")
    *answers, described, rest = _on_a_terminal(
        ["predict", model, "abc"], ["show", model, "abc"], ["describe", model]
    )
    assert len(answers) == 2 and not rest.strip()
    for said in (*answers, described):
        assert said.strip() and "Traceback" not in said
        assert said is described or "\ufffd" in said
        assert "\x1b]52" not in said and "\x07" not in said and "\u202e" not in said


def test_a_pipe_gets_texts_unchanged(regard, tmp_path: Path) -> None:
    _evil(tmp_path / "model")
    _, out, _ = regard("predict", str(tmp_path / "model"), "abc")
    assert EVIL in out and out.rstrip("\n") == Model.load(tmp_path / "model").predict("abc").text


def numeric_options() -> list[tuple[str, str]]:
    """(command, option) of every option that takes a number with a fraction."""
    return [
        # typer takes the first name of an annotated option as its default
        (name, (*hint.__metadata__[0].param_decls, hint.__metadata__[0].default)[0])
        for name in names("command")
        for hint in get_type_hints(part("command", name).run, include_extras=True).values()
        if hint.__class__ is Annotated[int, 0].__class__
        and float in (hint.__origin__, *get_args(hint.__origin__))
    ]


@pytest.mark.parametrize(("command", "option"), numeric_options())
def test_nan_is_not_a_number(regard, command: str, option: str) -> None:
    code, _, err = regard(command, "x", option, "nan")
    said = " ".join(err.split())  # typer and regard say it in words of their own
    assert code == 2 and option in said and ("Invalid value for" in said or "received nan" in said)


def test_there_are_numeric_options() -> None:
    assert ("matrix", "--minutes") in numeric_options()


def test_a_file_whose_name_is_not_unicode_is_refused_with_the_reason(
    regard, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"caf\xe9.tsv")
    try:
        Path(name).write_text("a\tb\n" * 60)
    except OSError:
        pytest.skip("this file system refuses such names")
    code, _, err = regard("train", name, "-o", "run")
    assert code == 2 and "not UTF-8, rename the file" in " ".join(err.split()) and "Traceback" not in err


def test_what_an_output_cannot_encode_is_escaped() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    safe_console(file=stream, width=80).print("rows … é")
    stream.flush()
    assert stream.buffer.getvalue() == b"rows \\u2026 \\xe9\n"  # type: ignore[attr-defined]


def test_streams_that_the_shell_closed_are_no_traceback(run: Path) -> None:
    command = [sys.executable, "-m", "regard", "predict", str(run), "abc"]
    for closed in ("<&-", ">&-", "2>&-"):
        done = subprocess.run(
            ["bash", "-c", f'"$@" {closed}', "bash", *command], capture_output=True, text=True, timeout=300
        )
        assert done.returncode in (0, 2) and "Traceback" not in done.stderr, done.stderr
