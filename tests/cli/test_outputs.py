"""Commands replace the files that regard wrote, but not the user's files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

import regard as package
from regard import zoo
from regard.cli.main import app
from regard.fitting.experiment import Experiment

Run = Callable[..., tuple[int, str, str]]
MINE = "my own work\n"
COMMANDS = {
    "describe -o": ["describe", "reverse", "-o", "net.svg"],
    "lab -o": ["lab", "jacobian", "-o", "lab.svg"],
    "lab --json": ["lab", "jacobian", "--json", "lab.json"],
    "lecture --json": ["lecture", "000.32", "--json", "found.json"],
    "lecture -o": ["lecture", "--open", "004.29", "-o", "entry.svg"],
    "predict -o": ["predict", "RUN", "abc", "-o", "said.txt"],
    "predict --json": ["predict", "RUN", "abc", "--json", "said.jsonl"],
    "predict --as": ["predict", "RUN", "-f", "WORDS", "--column", "word", "--as", "said", "-o", "table.tsv"],
    "score -o": ["score", "RUN", "abc", "A B", "-o", "scores.txt"],
    "show -o": ["show", "RUN", "abc", "-o", "look.svg"],
    "compare -o": ["compare", "RUN", "RUN", "--text", "abc", "-o", "both.svg"],
    "evaluate --json": ["evaluate", "RUN", "--data", "PAIRS", "--json", "found.json"],
    "evaluate --predictions": ["evaluate", "RUN", "--data", "PAIRS", "--predictions", "found.tsv"],
    "evaluate --plot": ["evaluate", "RUN", "--data", "PAIRS", "--plot", "found.svg"],
    "generate -o": ["generate", "LANGUAGE", "--prompt", "a", "--length", "3", "-o", "text.txt"],
    "generate --next": ["generate", "LANGUAGE", "--prompt", "a", "--next", "3", "-o", "next.txt"],
    "generate --json": ["generate", "LANGUAGE", "--prompt", "a", "--length", "3", "--json", "text.json"],
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Arguments for the commands: two models and some data."""
    folder = tmp_path_factory.mktemp("given")
    pairs = [(a + b, f"{a} {b}".upper()) for a in "abcdef" for b in "abcdef"]
    small = ["training.steps=2", "encoder.size=4", "decoder.size=4", "search.max_length=4"]
    package.fit(pairs, run=folder / "run", overrides=small, device="cpu", quiet=True)
    text = folder / "text.txt"
    text.write_text("a bad cab\n" * 300, encoding="utf-8")
    changes = [f"data.train={text}", "data.package=null", "training.steps=2", "decoder.size=4"]
    Experiment(zoo.find("lm-char", changes), folder / "language", device="cpu", quiet=True).train()
    (folder / "words.tsv").write_text("word\tnote\nab\tmine\n", encoding="utf-8")
    (folder / "pairs.tsv").write_text("abc\tA B\nfed\tF E\n", encoding="utf-8")
    return {
        "RUN": str(folder / "run"),
        "LANGUAGE": str(folder / "language"),
        "WORDS": str(folder / "words.tsv"),
        "PAIRS": str(folder / "pairs.tsv"),
    }


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_file_of_the_user_stays_and_ours_is_replaced(
    regard: Run,
    names: dict[str, str],
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [names.get(one, one) for one in arguments]
    file = tmp_path / arguments[-1]
    file.write_text(MINE, encoding="utf-8")
    code, out, err = regard(*command)
    assert code == 2 and not out and file.name in err and "--overwrite" in err
    assert file.read_text(encoding="utf-8") == MINE
    assert regard(*command, "--overwrite")[0] == 0
    ours = file.read_bytes()
    assert ours != MINE.encode()
    assert regard(*command)[0] == 0  # now the file is ours
    with file.open("a", encoding="utf-8") as stream:
        stream.write(MINE)
    changed = file.read_bytes()
    assert regard(*command)[0] == 2
    assert file.read_bytes() == changed


def test_every_command_that_writes_files_has_the_rule() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    found = {}
    for name, command in commands.items():
        options = {option for one in command.params for option in one.opts}
        if options & {"--output", "--json", "--plot", "--predictions"}:
            found[name] = "--overwrite" in options
    assert found.pop("exercise") is False  # never replaced: its file may hold an answer
    assert found.pop("sweep") is False  # never replaced: a sweep goes on in its folder
    assert found.pop("ask") is False  # writes no file: --json prints
    assert {"describe", "predict", "matrix", "chat", "lab"} <= set(found) and all(found.values())


def test_a_file_put_in_the_place_of_ours_stays(regard: Run, tmp_path: Path) -> None:
    file, other = tmp_path / "net.svg", tmp_path / "other.svg"
    assert regard("describe", "reverse", "-o", str(file))[0] == 0
    ours = file.stat()
    other.write_bytes(MINE.encode().ljust(ours.st_size))
    os.utime(other, ns=(ours.st_atime_ns, ours.st_mtime_ns))
    os.replace(other, file)  # same size and time
    assert regard("describe", "reverse", "-o", str(file))[0] == 2
    assert file.read_bytes().startswith(MINE.encode())


def test_without_a_cache_folder_nothing_is_replaced(
    regard: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "taken" / "cache"))
    command = ["describe", "reverse", "-o", str(tmp_path / "net.svg")]
    assert regard(*command)[0] == 0
    assert regard(*command)[0] == 2
    assert regard(*command, "--overwrite")[0] == 0


def test_one_file_cannot_hold_two_things(regard: Run, tmp_path: Path) -> None:
    file = tmp_path / "lab.svg"
    code, _, err = regard("lab", "jacobian", "-o", str(file), "--json", str(tmp_path / "." / "lab.svg"))
    assert code == 2 and "--output and --json" in err and not file.exists()


def test_a_damaged_record_is_as_good_as_none(regard: Run, tmp_path: Path, own_cache: Path) -> None:
    (own_cache / "written.json").write_text('{"x": [1', encoding="utf-8")
    command = ["describe", "reverse", "-o", str(tmp_path / "net.svg")]
    assert regard(*command)[0] == 0
    assert regard(*command)[0] == 0


def test_next_tokens_and_what_has_no_effect_beside_them(regard: Run, names: dict[str, str]) -> None:
    asked = ("generate", names["LANGUAGE"], "--prompt", "a", "--next", "2")
    code, out, _ = regard(*asked)
    first, second = (line.split("\t") for line in out.splitlines())
    assert code == 0 and 1 >= float(first[0]) >= float(second[0]) > 0 and first[1] != second[1]
    for option in (
        "--length",
        "--temperature",
        "--top-k",
        "--top-p",
        "--seed",
        "--must",
        "--never",
        "--regex",
    ):
        code, out, err = regard(*asked, option, "1")
        assert code == 2 and not out and f"{option} has no effect" in err
