"""The command line, from a file of pairs to a model, figures and answers; one-line errors."""

from __future__ import annotations

import ast
import inspect
import json
import random
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from regard import zoo
from regard.parts import names, part

Run = Callable[..., tuple[int, str, str]]


def write_pairs(path: Path, count: int = 60) -> None:
    generator = random.Random(1)
    words = ["".join(generator.choices("abcdef", k=generator.randint(2, 6))) for _ in range(count)]
    path.write_text("".join(f"{word}\t{' '.join(word[::-1].upper())}\n" for word in words), encoding="utf-8")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained from a file of pairs by the command itself, in a separate process."""
    folder = tmp_path_factory.mktemp("trained")
    write_pairs(folder / "pairs.tsv")
    command = [sys.executable, "-m", "regard", "train", "pairs.tsv", "--device", "cpu", "--quiet"]
    settings = ["training.steps=4", "encoder.size=8", "decoder.size=8", "search.max_length=8"]
    overrides = [part for setting in settings for part in ("--set", setting)]
    done = subprocess.run([*command, *overrides], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "runs" / "pairs"


HEAVY = (
    "torch",
    "numba",
    "triton",
    "accelerate",
    "numpy",
    "PIL",
    "sacrebleu",
    "sentencepiece",
    "matplotlib",
    "scipy",
)
"""Packages that take long to import."""
HELP = """
import sys
sys.argv = ["regard", "--help"]
import regard.cli
try:
    regard.cli.main()
except SystemExit:
    pass
print("loaded:", *(name for name in HEAVY if name in sys.modules))
"""
LOADED = """
import sys
before = {*sys.modules}
import regard
print(*sorted({name.partition(".")[0] for name in {*sys.modules} - before} - {*sys.stdlib_module_names}))
"""


def test_help_answers_without_a_package_that_takes_long_to_import() -> None:
    code = f"HEAVY = {HEAVY!r}" + HELP
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Encoder-decoder models you can look inside" in done.stdout
    for command in ("train", "evaluate", "predict", "score", "show", "describe", "list", "init"):
        assert command in done.stdout
    assert done.stdout.splitlines()[-1].strip() == "loaded:"


def test_importing_regard_imports_no_other_package() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["regard"], done.stderr


def test_a_run_folder_is_a_model_folder(trained: Path) -> None:
    names = {path.name for path in trained.iterdir()}
    assert {"model.safetensors", "spec.yaml", "columns.json", "metrics.json", "card.md", "log.csv"} <= names
    assert "dev" in json.loads((trained / "metrics.json").read_text())["scores"]
    header = (trained / "log.csv").read_text().splitlines()[0]
    assert {"step", "loss", "rate"} <= set(header.split(","))


def test_predict_adds_a_column_to_a_table(regard: Run, trained: Path, tmp_path: Path) -> None:
    table, lines = tmp_path / "in.tsv", tmp_path / "in.jsonl"
    table.write_text("id\tword\n1\tabc\n2\tfed\n", encoding="utf-8")
    lines.write_text('{"id": 1, "word": "abc"}\n{"id": 2, "word": "fed"}\n', encoding="utf-8")
    answers = [regard("predict", str(trained), word, "--device", "cpu")[1].strip() for word in ("abc", "fed")]
    wanted = ["predict", str(trained), "--column", "word", "--as", "said", "--device", "cpu"]
    code, out, err = regard(*wanted, "-f", str(table))
    assert code == 0, err
    assert out.splitlines() == ["id\tword\tsaid", f"1\tabc\t{answers[0]}", f"2\tfed\t{answers[1]}"]
    code, _, err = regard(*wanted, "-f", str(lines), "-o", str(tmp_path / "out.jsonl"))
    assert code == 0, err
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert written == [
        {"id": n, "word": w, "said": a} for n, w, a in zip((1, 2), ("abc", "fed"), answers, strict=True)
    ]
    code, _, err = regard(
        "predict", str(trained), "-f", str(table), "--column", "wrod", "--as", "x", "--device", "cpu"
    )
    assert code != 0 and "no column 'wrod'" in err and "id, word" in err
    code, _, err = regard("predict", str(trained), "-f", str(table), "--column", "word")
    assert code != 0 and "--column and --as together" in err


def test_predict_finds_a_column_by_its_number(regard: Run, trained: Path, tmp_path: Path) -> None:
    answers = [regard("predict", str(trained), word, "--device", "cpu")[1].strip() for word in ("abc", "fed")]
    wanted = ["predict", str(trained), "--as", "said", "--device", "cpu", "-f"]
    table = tmp_path / "in.tsv"
    table.write_text("id\tword\n1\tabc\n2\tfed\n", encoding="utf-8")
    code, out, err = regard(*wanted, str(table), "--column", "2")
    assert code == 0, err
    assert out.splitlines() == ["id\tword\tsaid", f"1\tabc\t{answers[0]}", f"2\tfed\t{answers[1]}"]
    table.write_text("abc\tC B A\nfed\tD E F\n", encoding="utf-8")
    code, out, err = regard(*wanted, str(table), "--column", "1")
    assert code == 0, err
    assert out.splitlines() == [f"abc\tC B A\t{answers[0]}", f"fed\tD E F\t{answers[1]}"]
    assert "in.tsv: no header; the answers are the last column" in err
    for column in ("0", "3", "word"):
        code, out, err = regard(*wanted, str(table), "--column", column)
        assert code == 2 and out == ""
        assert f"no column '{column}'" in err and "The columns are 1, 2; a number counts them from 1" in err


def test_predict_from_arguments_file_and_json(regard: Run, trained: Path, tmp_path: Path) -> None:
    code, out, err = regard("predict", str(trained), "abc", "fed", "--device", "cpu")
    assert code == 0, err
    assert len(out.splitlines()) == 1  # several words are one text, as with show
    (tmp_path / "in.txt").write_text("abc\nfed\n", encoding="utf-8")
    result = tmp_path / "out.jsonl"
    code, _, err = regard(
        "predict", str(trained), "-f", str(tmp_path / "in.txt"), "--json", str(result), "--trace", "--n-best", "2",
        "--beam", "3", "--device", "cpu",
    )  # fmt: skip
    assert code == 0, err
    answers = [json.loads(line) for line in result.read_text(encoding="utf-8").splitlines()]
    assert [answer["input"] for answer in answers] == ["abc", "fed"]
    assert all(len(answer["alternatives"]) == 2 for answer in answers)
    scores = [alternative["score"] for alternative in answers[0]["alternatives"]]
    assert all(score <= 0 for score in scores)
    weights = answers[0]["trace"]["attention"]["source"]
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in weights)


def test_score_prints_log_probability_and_perplexity(regard: Run, trained: Path) -> None:
    code, out, err = regard("score", str(trained), "abc", "C B A", "--device", "cpu")
    assert code == 0
    log_probability, perplexity, source, target = out.strip().split("\t")
    assert (source, target) == ("abc", "C B A")
    # four steps: C, B, A and END
    assert float(perplexity) == pytest.approx(2.718281828 ** (-float(log_probability) / 4), rel=1e-3)
    assert "perplexity" in err


@pytest.mark.parametrize("ending", ["svg", "html", "png"])
def test_show_writes_figures_that_open(regard: Run, trained: Path, tmp_path: Path, ending: str) -> None:
    figure = tmp_path / f"look.{ending}"
    code, _, err = regard("show", str(trained), "abc", "-o", str(figure), "--device", "cpu")
    assert code == 0, err
    if ending == "svg":
        assert ElementTree.parse(figure).getroot().tag.endswith("svg")
    elif ending == "png":
        assert figure.read_bytes().startswith(b"\x89PNG")
    else:
        assert "<svg" in figure.read_text(encoding="utf-8")


def test_show_falls_back_to_dev_if_there_is_no_test_split(regard: Run, trained: Path, tmp_path: Path) -> None:
    code, out, err = regard("show", str(trained), "--row", "0", "--device", "cpu")
    assert code == 0 and "→" in out, err
    assert "row 0 of dev; the data have no test split" in err
    code, out, err = regard("show", str(trained), "--gallery", "1", "--device", "cpu")
    assert code == 0 and "dev: 0 of the first" in out, err
    figure = str(tmp_path / "compare.svg")
    code, _, err = regard(
        "compare", str(trained), str(trained), "--row", "0", "-o", figure, "--device", "cpu"
    )
    assert code == 0 and err.count("row 0 of dev") == 1, err
    for option in (["--row", "0"], ["--gallery", "1"]):
        code, _, err = regard("show", str(trained), *option, "--split", "test", "--device", "cpu")
        assert code == 2 and "have no 'test'" in err
        assert "There are train, dev. Choose one with `--split`" in " ".join(err.split())


def test_show_in_the_terminal_has_a_row_per_output_piece(regard: Run, trained: Path) -> None:
    code, out, _ = regard("show", str(trained), "abc", "--target", "C B A", "--device", "cpu")
    assert code == 0
    assert all(piece in out for piece in ("C", "B", "A", "</s>"))


def test_evaluate_measures_by_length_and_writes_what_it_found(
    regard: Run, trained: Path, tmp_path: Path
) -> None:
    write_pairs(tmp_path / "test.tsv", 30)
    code, out, err = regard(
        "evaluate", str(trained), "--data", str(tmp_path / "test.tsv"), "--metric", "per", "--metric", "exact",
        "--metric", "perplexity", "--by-length", "--plot", str(tmp_path / "plot.svg"), "--device", "cpu",
        "--json", str(tmp_path / "m.json"), "--predictions", str(tmp_path / "p.tsv"),
    )  # fmt: skip
    assert code == 0, err
    scores = next(iter(json.loads((tmp_path / "m.json").read_text())["models"].values()))["scores"]
    assert set(scores) == {"per", "exact", "perplexity"}
    assert 0 <= scores["exact"]["value"] <= 1
    assert "length" in out
    lines = (tmp_path / "p.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == ["model", "input", "output", "references"]
    assert len(lines) - 1 == scores["per"]["n"]
    ElementTree.parse(tmp_path / "plot.svg")


def test_predictions_of_several_outputs_have_columns_of_their_own(regard: Run, tmp_path: Path) -> None:
    rows = [("fly to Rome", "O O city", "flight"), ("Rome hotels", "city O", "hotel")] * 4
    data = tmp_path / "rows.tsv"
    data.write_text("words\tslots\tintent\n" + "".join("\t".join(row) + "\n" for row in rows))
    (tmp_path / "both.yaml").write_text(
        "inputs: {words: {type: text}}\n"
        "outputs: {slots: {type: tags, of: words}, intent: {type: label}}\n"
        "encoder: {type: recurrent, size: 4, embedding: 4}\n"
        "decoder: {slots: {type: tags}, intent: {type: label}}\n"
        "training: {steps: 2}\n"
        f"data: {{train: {data}, dev: {data}}}\n"
    )
    run, table = str(tmp_path / "run"), tmp_path / "p.tsv"
    assert regard("train", str(tmp_path / "both.yaml"), "-o", run, "--device", "cpu")[0] == 0
    code, _, err = regard(
        "evaluate", run, "--data", str(data), "--predictions", str(table), "--device", "cpu"
    )
    assert code == 0, err
    first, *found = (line.split("\t") for line in table.read_text().splitlines())
    assert first == [
        "model",
        "input",
        "output slots",
        "references slots",
        "output intent",
        "references intent",
    ]
    assert [(line[1], line[3], line[5]) for line in found] == rows
    assert all(len(line[2].split()) == len(line[1].split()) for line in found)
    assert {line[4] for line in found} <= {"flight", "hotel"}


def test_evaluate_prints_each_signature_on_one_line(
    regard: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pairs(tmp_path / "test.tsv", 3)
    monkeypatch.setenv("COLUMNS", "30")
    code, out, err = regard(
        "evaluate", str(trained), "--data", str(tmp_path / "test.tsv"), "--metric", "bleu", "--device", "cpu"
    )
    assert code == 0, err
    (line,) = (line for line in out.splitlines() if line.startswith("bleu: "))
    assert re.fullmatch(r"bleu: nrefs:1\|.*\|version:[\d.]+", line)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["RUN", "--plot", "out.xyz"], "out.xyz: a figure cannot be written as .xyz"),
        (["RUN", "--by", "spelling"], "--by: the rows have no column 'spelling'"),
        (["RUN", "--by", "source,target,place"], "--by: received source, target, place"),
        (["RUN", "RUN", "--compare"], "RUN: this run is named twice. Name another run."),
    ],
)
def test_evaluate_checks_its_options_before_it_measures(
    arguments: list[str], expected: str, regard: Run, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.cli.measuring.measure", lambda *_, **__: 1 / 0)
    given = [str(trained) if one == "RUN" else one for one in arguments]
    code, out, err = regard("evaluate", *given, "--device", "cpu")
    assert (code, out) == (2, "")
    assert expected.replace("RUN", str(trained)) in " ".join(err.split())


def test_describe_reads_a_file_of_pairs(regard: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "pairs.tsv")
    code, out, err = regard("describe", "pairs.tsv")
    assert code == 0 and "source: characters" in out, err


def test_describe_gives_the_six_answers_and_counts_parameters(regard: Run, trained: Path) -> None:
    code, out, err = regard("describe", str(trained))
    assert code == 0, err
    for answer in ("data", "encoder", "decoder", "parameters", "loss", "algorithm"):
        assert answer in out
    import torch
    from safetensors.torch import load_file

    count = sum(
        tensor.numel()
        for tensor in load_file(trained / "model.safetensors").values()
        if tensor.dtype == torch.float32
    )
    assert f"together: {count:,}" in out


def test_describe_prints_the_form_of_the_gru_that_is_used(regard: Run) -> None:
    _, torch_form, _ = regard("describe", "reverse")
    _, cho_form, _ = regard(
        "describe", "reverse", "--set", "encoder.cell.update=cho", "--set", "decoder.cell.update=cho"
    )
    for cell in ("gru_d", "gru_y"):  # the encoder's and the decoder's
        assert f"{cell}(h, x) = (1 − z) ⊙ n + z ⊙ h" in torch_form
        assert f"{cell}(h, x) = z ⊙ n + (1 − z) ⊙ h" in cho_form


def test_list_and_init_cover_the_zoo(regard: Run, tmp_path: Path, thorough: bool) -> None:
    _, out, _ = regard("list")
    assert all(name in out for name in zoo.names())
    for name in zoo.names() if thorough else zoo.names()[::5]:
        code, text, _ = regard("init", name)
        assert code == 0
        (tmp_path / "my.yaml").write_text(text, encoding="utf-8")
        assert regard("describe", str(tmp_path / "my.yaml"))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["train"], "name what to train, or a run to resume"),
        (["train", "revrse"], "the zoo has no system 'revrse'. Did you mean reverse?"),
        (["train", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["train", "nowhere.tsv"], "nowhere.tsv: there is no such file"),
        (
            ["train", "reverse", "--set", "encoder.sise=3"],
            "--set encoder.sise=3: unknown key 'sise'. Did you mean size?",
        ),
        (["train", "reverse", "--set", "training.metric=blue"], "there is no metric 'blue'"),
        (["train", "reverse", "--set", "data.world=revrse"], "revrse"),
        (["train", "reverse", "--bad-rows", "maybe"], "'maybe' is not one of stop, skip"),
        (["train", "--resume", "nowhere"], "there is no run here"),
        (["predict", "nowhere", "abc"], "no such folder"),
        (["show", "nowhere", "abc"], "no such folder"),
        (["describe", "nowhere"], "the zoo has no system 'nowhere'"),
        (["init", "translaton"], "Did you mean translation?"),
        (["train", "folder"], "folder: this is a folder without class folders of images"),
        (["describe", "folder"], "a spec (my.yaml), a file of pairs or the folder of a run."),
        (["describe", "runs/pears"], "runs/pears: there is no such file or folder. Did you mean runs/pairs?"),
        (["train", "runs/pears"], "Did you mean runs/pairs?"),
        (["train", "--resume", "runs/pears"], "Did you mean runs/pairs?"),
        (["evaluate", "runs/pears"], "runs/pears: no such folder. Did you mean runs/pairs?"),
        (["evaluate", "pairs.tsv"], "pairs.tsv: this is a file, expected the folder of a trained model."),
        (["evaluate", "pairs.tsv"], "`regard evaluate RUN --data pairs.tsv`"),
        (["train", "pairs.tsv", "-o", "pairs.tsv/x"], "pairs.tsv is a file; choose another folder."),
        (["train", "link.tsv"], "link.tsv: this link leads to gone.tsv, which does not exist."),
        (["train", "other.csv"], "other.csv: there is no such file. Correct the name; the folder is /"),
    ],
)
def test_mistakes_are_told_in_a_line_with_exit_code_2(
    arguments: list[str], expected: str, regard: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "pairs.tsv")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.tsv").symlink_to("gone.tsv")
    (tmp_path / "runs" / "pairs").mkdir(parents=True)
    (tmp_path / "runs" / "pairs" / "spec.yaml").touch()
    code, _, err = regard(*arguments)
    assert code == 2
    assert expected in " ".join(err.split())
    assert "Traceback" not in err


def test_answers_to_bad_input_name_the_line(regard: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"abc\n\xff\xfe\n")
    code, _, err = regard("predict", str(trained), "-f", str(tmp_path / "in.txt"), "--device", "cpu")
    assert code == 2
    assert "in.txt:2: the line is not UTF-8: byte 1 of the line is 0xff" in err
    (tmp_path / "in.txt").write_text("abc\n\nfed\n", encoding="utf-8")
    result = tmp_path / "out.txt"
    code, _, err = regard(
        "predict", str(trained), "-f", str(tmp_path / "in.txt"), "-o", str(result), "--device", "cpu"
    )
    assert code == 2
    assert "in.txt:2: the line is empty" in err
    assert not result.exists()  # no partial file
    code, _, err = regard("show", str(trained), "abc", "-o", str(tmp_path / "x.jpg"), "--device", "cpu")
    assert code == 2
    assert ".jpg" in err


def test_a_run_is_not_overwritten_by_chance(regard: Run, trained: Path) -> None:
    code, _, err = regard("train", str(trained.parents[1] / "pairs.tsv"), "-o", str(trained), "--quiet")
    assert code == 2
    assert "already contains a run" in err
    assert "--overwrite" in err


def test_bad_rows_stop_or_are_set_aside(regard: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "pairs.tsv", 40)
    with (tmp_path / "pairs.tsv").open("a", encoding="utf-8") as file:
        file.write("lonely\nempty\t\n")
    settings = [
        "--set",
        "training.steps=2",
        "--set",
        "encoder.size=4",
        "--set",
        "decoder.size=4",
        "--device",
        "cpu",
        "--quiet",
    ]
    code, _, err = regard("train", "pairs.tsv", *settings)
    assert code == 2
    assert "pairs.tsv:41" in err
    assert not (tmp_path / "runs" / "pairs" / "model.safetensors").exists()
    code, _, err = regard("train", "pairs.tsv", "--bad-rows", "skip", "--overwrite", *settings)
    assert code == 0, err
    rejected = (tmp_path / "runs" / "pairs" / "rejected.tsv").read_text(encoding="utf-8")
    assert "41" in rejected
    assert "42" in rejected


def test_no_command_has_an_option_that_it_does_not_read() -> None:
    """`describe --device` was once accepted and ignored."""
    unread = []
    for command in names("command"):
        function = part("command", command).run
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        assert isinstance(tree, ast.FunctionDef)
        read = {node.id for line in tree.body for node in ast.walk(line) if isinstance(node, ast.Name)}
        unread += [f"{command} {name}" for name in inspect.signature(function).parameters if name not in read]
    assert not unread
