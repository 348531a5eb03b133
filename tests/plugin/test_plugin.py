"""Third-party parts: a separate distribution adds one of each kind, and regard knows none of them."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

import regard as package
from regard.cli import main
from regard.parts import KINDS, Provenance, check_installed, foreign, part

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
SENTENCE = "the red pump shows nine bars"
PARTS = {
    "column": "amount",
    "encoder": "backward",
    "cell": "minimal-gated",
    "decoder": "amount",
    "score": "cosine",
    "selection": "tempered",
    "world": "gauge",
    "metric": "amount_error",
    "optimizer": "scaled",
    "search": "brief",
}
"""The parts of the model `gauge`, by kind."""
REGISTERED = re.compile(r'^@regard\.register\("(\w+)", "([\w-]+)"\)$', re.MULTILINE)
COMMANDS = """
import contextlib, io, json, os, sys
from regard.cli import main
answers = sys.stdout
for line in sys.stdin:
    folder, commands = json.loads(line)
    os.chdir(folder)
    results = []
    for arguments in commands:
        out, err, code = io.StringIO(), io.StringIO(), 0
        sys.argv = ["regard", *arguments]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                exec(arguments[1], {}) if arguments[0] == "-c" else main()
            except SystemExit as stop:
                code = int(stop.code or 0)
        results.append([code, out.getvalue(), err.getvalue()])
    print(json.dumps(results), file=answers, flush=True)
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def surroundings(folder: Path, path: list[Path]) -> dict[str, str]:
    """The environment of a separate process, with these folders on its import path."""
    cache = {"REGARD_CACHE": str(folder / "cache"), "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **cache, "PYTHONPATH": os.pathsep.join(map(str, [REPOSITORY, *path]))}


Regard = Callable[..., list[Ran]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the distribution is installed, without a network."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    shutil.copy(HERE / "pyproject.toml", source)
    shutil.copytree(HERE / "regard_minimal", source / "regard_minimal")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)]
    subprocess.run(command, check=True)
    return target


@pytest.fixture(scope="module")
def regard(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Regard]:
    """Run commands, or code with -c, one after the other in a process where the distribution is installed. The same
    process serves all tests, because its start takes longer than most of them."""
    folder = tmp_path_factory.mktemp("process")
    with (folder / "errors").open("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMANDS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
            env=surroundings(folder, [installed]),
        )
        assert process.stdin is not None and process.stdout is not None
        given, printed = process.stdin, process.stdout

        def run(*commands: list[str], folder: Path) -> list[Ran]:
            print(json.dumps([str(folder), commands]), file=given, flush=True)
            answer = printed.readline()
            assert answer, Path(errors.name).read_text(encoding="utf-8")
            return [Ran(*result) for result in json.loads(answer)]

        yield run
        given.close()
        process.wait(timeout=60)


@pytest.fixture(scope="module")
def run(regard: Regard, tmp_path_factory: pytest.TempPathFactory, learning_seed: int) -> Path:
    """A model of its parts, trained from a YAML file; next to it `both`, which also writes a text, and `panel`, whose
    parts need an image, a tree and a signal."""
    folder = tmp_path_factory.mktemp("gauge")
    seed = ["--set", f"training.seed={1 + learning_seed}"]
    for trained in regard(
        ["train", str(HERE / "gauge.yaml"), "-o", "run", *seed],
        ["train", str(HERE / "both.yaml"), "-o", "both", "--quiet", *seed],
        ["train", str(HERE / "panel.yaml"), "-o", "panel", "--quiet", *seed],
        folder=folder,
    ):
        assert trained.code == 0, trained.err
    return folder / "run"


PYTHON = f"""
import regard
model = regard.load("run")
answer = model.predict({SENTENCE!r})
print(answer.value, model.score({SENTENCE!r}, 9).score, model.score([{SENTENCE!r}], [9.5])[0].value)
model.save("copy")
again = regard.load("copy").predict({SENTENCE!r})
assert again.value == answer.value and abs(again.trace.attention["sentence"].sum() - 1) < 1e-4
"""


def parts_in_files() -> dict[str, list[tuple[str, str]]]:
    """The kind and name of each part of the distribution, by file."""
    files = sorted((HERE / "regard_minimal").glob("*.py"))
    return {path.name: REGISTERED.findall(path.read_text(encoding="utf-8")) for path in files}


def test_the_distribution_has_one_part_of_every_kind_and_each_is_one_file(
    regard: Regard, tmp_path: Path
) -> None:
    found = parts_in_files()
    assert found.pop("__init__.py") == []
    assert all(len(parts) == 1 for parts in found.values()), found
    parts = [one for (one,) in found.values()]
    assert {kind for kind, _ in parts} == set(KINDS)
    listed = regard(
        ["list", "parts"],
        *(["list", "parts", kind, name] for kind, name in parts),
        folder=tmp_path,
    )
    assert [one.err for one in listed if one.code] == []
    for (kind, name), (_, out, _) in zip(parts, listed[1:], strict=True):
        assert out.startswith(f"{kind} {name}\nfrom regard-minimal 0.3.1: regard_minimal."), out
        assert name in listed[0].out


def check_drawing(run: Path, file: str, words: tuple[str, ...]) -> None:
    """Its network is drawn with its names, its options and the number of parameters of the file."""
    from safetensors import safe_open

    with safe_open(run / "model.safetensors", "pt") as weights:
        count = sum(weights.get_tensor(name).numel() for name in weights.keys())  # noqa: SIM118
    root = ElementTree.fromstring((run.parent / file).read_text(encoding="utf-8"))
    texts = [
        str(one.text or "".join(one.itertext())) for one in root.iter("{http://www.w3.org/2000/svg}text")
    ]
    told = "\n".join(texts)
    assert f"{count:,} parameters" in texts
    for said in words:
        assert said in told, (said, told)


def test_a_model_of_foreign_parts_is_used_like_any_other(regard: Regard, run: Path) -> None:
    ran = regard(
        ["evaluate", str(run), "--json", "scores.json"],
        ["describe", str(run)],
        ["predict", str(run), SENTENCE],
        ["predict", str(run), "--json", "-", "--trace", SENTENCE],
        ["show", str(run), SENTENCE],
        ["show", str(run), "--row", "3"],
        ["show", str(run), SENTENCE, "-o", "figure.svg"],
        ["show", str(run), SENTENCE, "--look", "2-0"],
        ["score", str(run), SENTENCE, "9"],
        ["-c", PYTHON],
        ["predict", "both", SENTENCE],
        ["show", "both", "--of", "reading", SENTENCE],
        ["describe", str(run), "-o", "net.svg"],
        ["describe", "both"],
        ["describe", "both", "--as", "booklet"],
        ["predict", "both", "--set", "search.bonus=1000", "--set", "search.min_length=1", SENTENCE],
        ["predict", "both", "--beam", "3", SENTENCE],
        ["export", "both", "--to", "names", "--of", "reading", "-o", "exported"],
        ["train", "--resume", str(run), "--set", "training.epochs=6", "--quiet"],
        folder=run.parent,
    )
    assert [one.err for one in ran if one.code] == []
    (
        measured,
        described,
        predicted,
        as_json,
        shown,
        of_row,
        _,
        told,
        scored,
        python,
        text,
        read,
        _,
        *searched,
        _,
        _,
    ) = ran
    weights = (run.parent / "exported" / "names.txt").read_text(encoding="utf-8").splitlines()
    assert len(weights) > 10 and all(line.endswith(")") for line in weights)
    names = ("encoder of sentence", "minimal-gated", "backward", "cosine", "temperature 0.5", "size 32")
    check_drawing(run, "net.svg", names)
    assert "amount_error: mean absolute error|refs:1" in measured.out
    found = json.loads((run.parent / "scores.json").read_text(encoding="utf-8"))
    assert next(iter(found["models"].values()))["scores"]["amount_error"]["value"] < 1.0
    for equation in (
        "h_j = minimalgated_x(h_{j+1}, x_j)",
        "minimalgated_x(h, x) = (1 − f) ⊙ h + f ⊙ n",
        "e_j = g_a (U_a q)·(W_a h_j)",
        "α = softmax_j(e_j / 0.5)",
        "− 0.5 Σ_j a_j log(α_j)",
        "y = value: a number",
        "from the generated world 'gauge'",
        "gradients scaled with β = 0.98, learning rate 0.01",
    ):
        assert equation in described.out
    assert float(predicted.out) == pytest.approx(9.0, abs=1.5)
    answer = json.loads(as_json.out)
    assert isinstance(answer["value"], float) and answer["trace"]["kind"] == "amount"
    assert answer["trace"]["input"]["sentence"][max(range(6), key=_looks(answer).__getitem__)] == "nine"
    assert "nine[9]" in shown.out and predicted.out.strip() in shown.out
    assert "log p" in of_row.out
    words = {text.text for text in ElementTree.parse(run.parent / "figure.svg").iter() if text.text}
    assert "nine" in words
    assert "overridden:" in told.out and "pump[9]" in told.out
    log_p, source, target = scored.out.strip().split("\t")
    assert float(log_p) < 0.0 and (source, target) == (SENTENCE, "9")
    value, score, given = map(float, python.out.split())
    assert value == pytest.approx(9.0, abs=1.5) and score < 0.0 and given == 9.5
    answers = dict(line.split("\t") for line in text.out.splitlines())
    assert list(answers) == ["value", "reading"] and float(answers["value"])
    assert set(answers["reading"].split()) & {"nine", "bars"}
    assert answers["reading"].split()[0] in read.out
    board, in_letters, brief, beam = (one.out for one in searched)
    assert "decoders.value.output.weight" in in_letters and "one bias for each gate" in in_letters
    assert "decoded by brief search with a bonus of 0.25" in board
    assert len(dict(line.split("\t") for line in brief.splitlines())["reading"].split()) == 1
    assert dict(line.split("\t") for line in beam.splitlines())["reading"]
    scores = json.loads((run.parent / "both" / "metrics.json").read_text(encoding="utf-8"))["scores"]
    assert {"value.amount_error", "reading.bleu"} <= set(scores["test"])


ROWS = """
import json
from regard.parts import part
rows = part("package", "panels")().splits()["test"]
with open("rows.jsonl", "w") as file:
    for row in list(rows)[:2]:
        file.write(json.dumps({name: row[name] for name in ("picture", "phrase", "signal")}) + "\\n")
"""


def test_parts_with_inputs_of_their_own_and_those_of_training_are_used_like_ours(
    regard: Regard, run: Path
) -> None:
    """A package, a network, a composer, a store, a schedule, a curriculum and a logger."""
    before = (run.parent / "panel" / "steps.txt").read_text(encoding="utf-8").split()
    ran = regard(
        ["-c", ROWS],
        ["predict", "panel", "-f", "rows.jsonl", "--json", "-"],
        ["evaluate", "panel", "--json", "panel.json"],
        ["show", "panel", "--row", "1", "--of", "state"],
        ["show", "panel", "--row", "1", "--of", "state", "-o", "panel.svg"],
        ["show", "panel", "--row", "1", "-o", "panel.html"],
        ["describe", "panel", "-o", "panel-net.svg"],
        ["train", "--resume", "panel", "--set", "training.epochs=3", "--quiet"],
        folder=run.parent,
    )
    assert [one.err for one in ran if one.code] == []
    _, predicted, _, shown, _, _, described, _ = ran
    answers = [json.loads(line) for line in predicted.out.splitlines()]
    assert [one["output"] for one in answers] == ["state", "state", "echo", "echo"]
    scores = json.loads((run.parent / "panel.json").read_text(encoding="utf-8"))["models"]
    assert {"state.bleu", "echo.bit_accuracy"} <= set(next(iter(scores.values()))["scores"])
    assert "lamp" in shown.out and "@" in shown.out  # the words of the tree, and the pixels
    words = {text.text for text in ElementTree.parse(run.parent / "panel.svg").iter() if text.text}
    assert "lamp" in words
    assert "lamp" in (run.parent / "panel-state.html").read_text(encoding="utf-8")
    for line in (
        "from the package 'panels'",
        "G = W_g * x + b_g   — tiles of 4 × 4",
        "node′_x(l, r) = max(W′_p l + b′_p, W′_p r + b′_p)",
        "v′_j′′ = v′_{j′′−1} + W′_va s′_j′′ + b′_va",
        "learning rate 0.02, stairs,",
        "curriculum hard-first by",
    ):
        assert line in described.out, described.out
    check_drawing(run.parent / "panel", "panel-net.svg", ("tiles", "larger", "sum", "minimal-gated"))
    # The schedule and the logger after a resumption: 4 updates an epoch, and a stair.
    after = (run.parent / "panel" / "steps.txt").read_text(encoding="utf-8").split()
    assert before == ["4", "8"] and after[:2] == before and after[-1] == "12"
    with (run.parent / "panel" / "log.csv").open(encoding="utf-8") as file:
        rates = {int(row["step"]): float(row["rate"]) for row in csv.DictReader(file)}
    assert [rates[step] for step in (4, 8, 12)] == pytest.approx([0.02 / 2, 0.02 / 3, 0.02 / 4])


def test_a_foreign_lab_is_used_like_ours(regard: Regard, tmp_path: Path) -> None:
    listed, ran, drawn = regard(
        ["lab"],
        ["lab", "needle", "--set", "steps=4", "--json", "-"],
        ["lab", "needle", "-o", "needle.svg"],
        folder=tmp_path,
    )
    assert [one.err for one in (listed, ran, drawn) if one.code] == []
    assert "how a needle comes to rest" in listed.out
    assert json.loads(ran.out)["numbers"]["distances"] == [1.0, 0.5, 0.25, 0.125, 0.0625]
    assert ElementTree.parse(tmp_path / "needle.svg").getroot().tag.endswith("svg")


DIAL = f"""
import io, json
import regard
from rich.console import Console
model = regard.load("run")
trace = model.predict({SENTENCE!r}).trace
assert trace.structures["sentence"].kind == "dial"
again = regard.Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
assert again.to_dict() == trace.to_dict()
assert again.plot().svg() == trace.plot().svg() and 'class="dial"' in trace.plot().svg()
assert "A dial at" in trace.plot().description
assert "The dial alone" in trace.html()
compared = regard.inspect.compare([("one", trace), ("two", again)])
assert compared.svg().count('class="dial"') == 2 and "one: A dial at" in compared.description
file = io.StringIO()
Console(file=file, width=60).print(compared)
assert file.getvalue().count("◆ the number that was read") == 1
from regard.testing import failures
import regard_minimal.drawing
print(failures("drawing", "dial", trace=regard_minimal.drawing.example()))
"""


def test_a_foreign_drawing_is_shown_compared_and_read_back(regard: Regard, run: Path) -> None:
    shown, page, compared, listed, python = regard(
        ["show", str(run), SENTENCE],
        ["show", str(run), SENTENCE, "-o", "dial.html"],
        ["compare", str(run), str(run), "--row", "1", "-o", "dials.svg"],
        ["list", "parts", "drawing", "dial"],
        ["-c", DIAL],
        folder=run.parent,
    )
    assert [one.err for one in (shown, page, compared, listed, python) if one.code] == []
    assert "├" in shown.out and "◆" in shown.out and "◆ the number that was read" in shown.out
    assert "nine[9]" in shown.out  # the attention, which the dial does not show, is drawn below it
    html = (run.parent / "dial.html").read_text(encoding="utf-8")
    assert "The dial alone" in html and "dot: the number that was read" in html
    drawn = ElementTree.parse(run.parent / "dials.svg").iter("{http://www.w3.org/2000/svg}g")
    assert sum(group.get("class") == "dial" for group in drawn) == 2
    assert "regard_minimal.drawing.DialDrawing" in listed.out
    assert python.out.strip() == "[]"


def test_a_format_and_a_selection_that_draws_are_used_like_ours(regard: Regard, run: Path) -> None:
    (run.parent / "some.arrows").write_text(
        f"{SENTENCE} -> 9\nthe blue tank shows two bars -> 2\n", encoding="utf-8"
    )
    ran = regard(
        ["predict", str(run), SENTENCE],
        ["predict", str(run), "-f", "some.arrows", "--json", "-"],
        ["predict", str(run), "some.arrows"],
        ["evaluate", str(run), "--data", "some.arrows"],
        ["describe", "both"],
        ["show", "both", "--of", "reading", SENTENCE, "-o", "reading.svg"],
        folder=run.parent,
    )
    assert [one.err for one in ran if one.code] == []
    alone, as_json, back, measured, described, _ = ran
    answers = [json.loads(line) for line in as_json.out.splitlines()]
    assert [one["input"] for one in answers] == [SENTENCE, "the blue tank shows two bars"]
    assert answers[0]["text"] == alone.out.strip()
    assert back.out.splitlines() == [f"{one['input']} -> {one['text']}" for one in answers]
    assert "amount_error: mean absolute error|refs:1" in measured.out
    assert "in training one is drawn" in described.out and (run.parent / "reading.svg").exists()


def _looks(answer: dict[str, Any]) -> list[float]:
    looks: list[float] = answer["trace"]["attention"]["sentence"][0]
    return looks


PATHS = """
import torch
import regard.parts
from regard.data.batch import Tokens
from regard.nn import Embedding, GRUCell, RecurrentEncoder, without_fast_paths
made = regard.parts.part("path", "torch-gru")
before = made.ran
torch.manual_seed(0)
encoder = RecurrentEncoder(Embedding(9, 5), size=4)
tokens = Tokens(torch.randint(4, 9, (6, 7)), torch.tensor([7, 3, 5, 7, 1, 2]))
found = encoder(tokens).values
with without_fast_paths():
    torch.testing.assert_close(found, encoder(tokens).values)
assert made.ran == before + 1, made.ran
class Halved(GRUCell):
    def advance(self, projected, state):
        return 0.5 * super().advance(projected, state)
for cell in encoder.layers[0].each():
    cell.__class__ = Halved
changed = encoder(tokens).values
assert made.ran == before + 1 and not torch.allclose(changed, found)
with without_fast_paths():
    torch.testing.assert_close(changed, encoder(tokens).values)
"""


def test_a_foreign_path_serves_what_it_takes_and_no_subclass(regard: Regard, tmp_path: Path) -> None:
    small = ["--set", "data.world={type: reverse, train: 20, dev: 4, test: 4}"]
    used, described, lstm, listed = regard(
        ["-c", PATHS],
        ["describe", "reverse", "--paths", *small],
        ["describe", "reverse", "--paths", *small, "--set", "encoder.cell=lstm"],
        ["list", "parts", "path", "torch-gru"],
        folder=tmp_path,
    )
    assert used.code == 0, used.err
    for shown, serving in ((described.out, "torch-gru, then layer-cpu"), (lstm.out, "layer-cpu")):
        (line,) = [one for one in shown.splitlines() if one.startswith("layer.run")]
        assert line.split(None, 1)[1].startswith(serving), shown
    assert "torch-gru (layer.run): The cell is no GRU, or was changed." in lstm.out
    assert "torch-gru (" not in described.out
    assert "from regard-minimal 0.3.1: regard_minimal.path.TorchGRU" in listed.out


def test_a_foreign_command_is_used_like_ours(regard: Regard, tmp_path: Path) -> None:
    helped, ran, wrong, broken, listed = regard(
        ["--help"],
        ["units", "nine", "bars"],
        ["units", ""],
        ["units", "broken"],
        ["list", "parts", "command", "units"],
        folder=tmp_path,
    )
    assert "units" in helped.out.partition(" Use ")[2].partition(" Look inside ")[0]
    assert (ran.code, ran.out) == (0, "2 words\n")
    assert wrong.code == 2 and wrong.err == "error: units: a word is empty.\n       Leave it out.\n"
    assert broken.code == 2 and "the command 'units' (regard_minimal.command): run failed" in broken.err
    assert "from regard-minimal 0.3.1: regard_minimal.command.UnitsCommand" in listed.out


CHECKED = """
import regard_minimal.drawing
from regard.testing import failures
for kind, name in PARTS:
    given = {"file": "some.arrows"} if kind == "reader" else {}
    given |= {"trace": regard_minimal.drawing.example()} if kind == "drawing" else {}
    for told in failures(kind, name, **given):
        print(kind, name, told)
"""


DRAWN = """
import json
from typing import Any

import regard
from regard.describe import answers
from regard.describe.graph import graph
from regard.nn import Selection, masked_softmax

@regard.register("selection", "top-two")
class TopTwo(Selection):
    @classmethod
    def equations(cls, options: Any, look: Any) -> list[str]:
        return [f"{look.weights} = topk_{look.below}({look.energy}, 2)"]

    def forward(self, scores: Any, mask: Any, given: Any = None) -> Any:
        return masked_softmax(scores, mask if mask.ndim == 3 else mask.unsqueeze(1))

def units(spec):
    made = graph(spec)
    insides = {one.name: {u.symbol: u.count for u in one.units} for part in made.parts for one in part.insides}
    held = {one.symbol: [one.kind, one.latent, {name: n for name, n in one.weights.items()}] for one in made.units()}
    return held, insides

gauge = units(regard.Spec.load("gauge.yaml"))
both = regard.Spec.load("both.yaml").changed("decoder.reading.attention.select=top-two")
print(json.dumps([*gauge, units(both)[0], answers(both)["decoder"]]))
"""


def test_foreign_parts_are_drawn_with_their_letters(regard: Regard, tmp_path: Path) -> None:
    for name in ("gauge.yaml", "both.yaml"):
        shutil.copy(HERE / name, tmp_path)
    (drawn,) = regard(["-c", DRAWN], folder=tmp_path)
    gauge, insides, both, lines = json.loads(drawn.out.splitlines()[-1])
    cell = {f"encoders.sentence.cell.{name}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
    read = "decoders.value.reading.attentions.sentence.score"
    held = {symbol: set(weights) for symbol, (_, _, weights) in gauge.items() if weights}
    assert held == {
        "x_j": {"encoders.sentence.embedding.weight"},
        "h_j": cell,
        "e_j": {"decoders.value.query", f"{read}.query.weight", f"{read}.key.weight", f"{read}.gain"},
        "μ": {"decoders.value.output.weight", "decoders.value.output.bias", "decoders.value.log_deviation"},
    }
    assert gauge["α"][:2] == ["latent", "z"]
    gate = 2 * (32 * 32 + 32)  # W, b and U, c of one gate
    assert insides["minimalgated_x"]["f"] == insides["minimalgated_x"]["n"] == gate
    # The second output has primes; a function of another package keeps its name, and is drawn as a choice.
    assert "α′_t′ = topk_j(e′_t′j, 2)" in lines
    assert both["α′_t′"][:2] == ["latent", "z′_t′"]
    assert set(both["s′_t′"][2]) == {
        f"decoders.reading.stack.cells.0.{name.rpartition('.')[2]}" for name in cell
    }
    assert not any(kind == "box" for kind, _, _ in (*gauge.values(), *both.values()))


def test_foreign_parts_pass_the_check_of_parts(regard: Regard, tmp_path: Path) -> None:
    (tmp_path / "some.arrows").write_text(f"{SENTENCE} -> 9\n", encoding="utf-8")
    parts = [one for found in parts_in_files().values() for one in found]
    (checked,) = regard(["-c", f"PARTS = {parts!r}" + CHECKED], folder=tmp_path)
    assert checked == Ran(0, "", "")


def test_a_saved_model_names_the_distribution_of_each_part(run: Path) -> None:
    listed = json.loads((run / "parts.json").read_text(encoding="utf-8"))["parts"]
    assert {one["kind"]: one["name"] for one in listed} == PARTS
    assert {(one["distribution"], one["version"]) for one in listed} == {("regard-minimal", "0.3.1")}
    card = (run / "card.md").read_text(encoding="utf-8")
    assert "needs the package regard-minimal 0.3.1: column amount, encoder backward" in card
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    assert "parts.json" in manifest["files"]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command in this process, where the distribution is not installed."""

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["regard", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        return Ran(int(stop.value.code or 0), *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "RUN", SENTENCE],
        ["show", "RUN", SENTENCE],
        ["evaluate", "RUN"],
        ["describe", "RUN"],
        ["score", "RUN", SENTENCE, "9"],
        ["train", "--resume", "RUN"],
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_without_the_distribution_it_says_what_to_install(
    arguments: list[str],
    run: Path,
    command: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoy = tmp_path / "regard_minimal"  # importable under the name the model gives, and not installed
    decoy.mkdir()
    (decoy / "__init__.py").write_text("raise AssertionError('imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    ran = command(*(str(run) if one == "RUN" else one for one in arguments))
    assert ran.code == 2
    assert f"{run}: the model uses parts that are not registered here: " in ran.err
    for kind, name in PARTS.items():
        assert f"{kind} {name} (regard-minimal 0.3.1)" in ran.err
    assert "Install it:  pip install 'regard-minimal==0.3.1'" in ran.err
    assert "regard_minimal" not in sys.modules


def test_nothing_in_regard_knows_of_them() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (REPOSITORY / "regard").rglob("*.py")]
    for word in ("regard_minimal", "regard-minimal", "minimal-gated", "GaugeWorld", "AmountColumn"):
        assert not any(word in text for text in texts), word
    assert all(part(kind, name) is None for kind, name in PARTS.items())


SCRIPT = """
import torch
import regard

@regard.register("selection", "loudest")
class Loudest(regard.nn.Selection):
    @classmethod
    def equations(cls, options, look):
        return [f"{look.weights} = softmax_{look.below}(2 {look.energy})"]

    def forward(self, scores, mask, given=None):
        return regard.nn.masked_softmax(2 * scores, mask if mask.ndim == 3 else mask.unsqueeze(1))

spec = regard.Spec(
    inputs={"source": {"type": "text"}},
    outputs={"target": {"type": "text"}},
    encoder={"size": 8, "embedding": 8},
    decoder={"size": 8, "embedding": 8, "attention": {"select": Loudest.Options()}},
)
rows = [{"source": "a b c", "target": "c b a"}, {"source": "c a", "target": "a c"}]
model = regard.Model.build(spec, rows=rows)
optimizer = torch.optim.Adam(model.network.parameters(), lr=0.01)
for batch in model.batches(rows, batch_rows=2):
    sum(loss.mean for loss in model.network(batch).values()).backward()
    optimizer.step()
model.save("run")
regard.load("run").predict("a b")
"""


def test_a_part_of_a_script_must_be_registered_again(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, env=surroundings(tmp_path, []), check=True)
    listed = json.loads((tmp_path / "run" / "parts.json").read_text(encoding="utf-8"))["parts"]
    assert [(one["kind"], one["name"], one["distribution"]) for one in listed] == [
        ("selection", "loudest", "")
    ]
    told = (tmp_path / "run" / "card.md").read_text()
    assert r"needs the script that registers \_\_main\_\_.Loudest" in told
    with pytest.raises(package.RegardError) as error:
        package.load(tmp_path / "run")
    assert "uses a part that is not registered here: selection loudest (a script)" in str(error.value)
    assert "Run the code that registers it (__main__.Loudest) before the model is loaded." in str(error.value)


def test_an_installed_distribution_without_the_part_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Provenance("cell", "absent", "numpy.absent.Cell", "numpy", "0.9")
    with pytest.raises(
        package.RegardError, match=r"numpy \S+ is installed and does not register it; .* 0\.9"
    ):
        check_installed([missing])
    monkeypatch.setattr(foreign, "failure", lambda name: "ImportError: no module named torchx")
    with pytest.raises(package.RegardError, match="could not be loaded: ImportError: no module named torchx"):
        check_installed([missing])


def test_a_name_that_is_no_distribution_is_not_made_a_command() -> None:
    listed = {"kind": "cell", "name": "absent", "distribution": "x; rm -rf /", "version": "1'"}
    with pytest.raises(package.RegardError) as error:
        check_installed([Provenance.from_dict(listed)])
    assert "rm -rf" not in str(error.value) and "pip install" not in str(error.value)


def test_a_name_of_regard_cannot_be_taken() -> None:
    with pytest.raises(package.RegardError, match="the world 'copy' is defined twice: by regard"):

        @package.register("world", "copy")
        class Copy(package.worlds.World):
            pass


def test_options_that_are_inherited_stay_those_of_their_part() -> None:
    from regard.nn.cells import GRUCell
    from regard.parts import registry

    class Other(GRUCell):
        Options = GRUCell.Options

    try:
        package.register("cell", "other-gru")(Other)
        assert (GRUCell.Options.type, GRUCell.Options.part) == ("gru", GRUCell)
        assert (Other.Options.type, Other.Options.part) == ("other-gru", Other)
    finally:
        registry.PARTS["cell"].pop("other-gru", None)
