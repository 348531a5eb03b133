"""A language model from a text file to generated text: training, resuming, evaluation, refusals."""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import regard
from regard import zoo
from regard.cli import main
from regard.data.batch import BEGIN
from regard.data.columns import StreamColumn
from regard.errors import RegardError
from regard.fitting.experiment import Experiment
from regard.model.building import build_network, count_parameters, make_columns
from regard.model.continuing import Growing
from regard.model.counting import parameter_counts
from regard.spec import Spec
from regard.training import checkpoint

DECODER = {
    "type": "language",
    "size": 8,
    "embedding": 6,
    "layers": 2,
    "dropout": 0.2,
    "recurrent_dropout": 0.2,
}


def book(count: int = 700) -> str:
    draw = random.Random(2)
    lines = ["the cat saw a dog.", "a dog sat, the cat ran!", "ran the dog? no.", "a cat, a cat."]
    return "".join(draw.choice(lines) + "\n" for _ in range(count))


def spec(
    folder: Path,
    decoder: dict[str, Any] | None = None,
    unit: str = "char",
    min_count: int | None = None,
    **training: Any,
) -> Spec:
    path = folder / "book.txt"
    if not path.exists():
        path.write_text(book(), encoding="utf-8")
    column = {} if min_count is None else {"min_count": min_count}
    options = {"batch_rows": 6, "span": 9, "steps": 12, "lr": 0.01, **training}
    return Spec.parse(
        {
            "name": "tiny",
            "outputs": {"text": {"type": "stream", "unit": unit, **column}},
            "decoder": decoder or DECODER,
            "training": options,
            "data": {"train": str(path)},
        }
    )


def trained(folder: Path, name: str = "run", **options: Any) -> regard.LanguageModel:
    return Experiment(spec(folder, **options), folder / name, device="cpu", quiet=True).train()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lm")
    trained(folder, steps=60)
    return folder / "run"


SELF = {"type": "transformer", "size": 8, "embedding": 8, "layers": 2, "heads": 2, "reach": 5, "dropout": 0.1}


@pytest.mark.parametrize(
    "decoder", [DECODER, {"type": "window", "order": 3, "size": 8, "embedding": 6}, SELF]
)
def test_a_resumed_run_goes_on_with_the_carried_state(tmp_path: Path, decoder: dict[str, Any]) -> None:
    trained(tmp_path, "whole", decoder=decoder, steps=14)
    trained(tmp_path, "parted", decoder=decoder, steps=5)
    Experiment.resume(tmp_path / "parted", overrides=["training.steps=14"], device="cpu", quiet=True).train()
    whole, parted = (checkpoint.read(tmp_path / name / checkpoint.STATE)[0] for name in ("whole", "parted"))
    assert any(name.startswith("carried/text/") for name in whole)
    assert whole.keys() == parted.keys()
    for name, tensor in whole.items():
        assert torch.equal(tensor, parted[name]), name


def test_carry_decides_whether_the_state_goes_on(tmp_path: Path) -> None:
    for name, carry in (("on", True), ("off", False)):
        trained(tmp_path, name, decoder={**DECODER, "dropout": 0.0, "recurrent_dropout": 0.0}, carry=carry)
    on, off = (load_file(tmp_path / name / "model.safetensors") for name in ("on", "off"))
    assert any(not torch.equal(on[key], off[key]) for key in on)


def naive(model: regard.LanguageModel, text: str) -> list[float]:
    """−log p of each token by torch's own LSTM, one token at a time."""
    decoder: Any = model.network.decoders["text"]
    cells = [nn.LSTMCell(cell.input_size, cell.size) for cell in decoder.cells]
    for mine, theirs in zip(cells, decoder.cells, strict=True):
        mine.load_state_dict(dict(theirs.named_parameters()))
    states: list[Any] = [None] * len(cells)
    costs, before = [], BEGIN
    with torch.no_grad():
        for token in model.columns["text"].encode(text).tolist():
            hidden = decoder.embedding.weight[[before]]
            for layer, cell in enumerate(cells):
                states[layer] = cell(hidden, states[layer])
                hidden = states[layer][0]
            logits = hidden @ decoder.output.weight.T + decoder.output.bias
            costs.append(-float(torch.log_softmax(logits, -1)[0, token]))
            before = token
    return costs


def test_a_whole_text_is_measured_with_every_token_once(run: Path, tmp_path: Path) -> None:
    model = regard.load(run, device="cpu")
    text = book(250)[:3001]
    (tmp_path / "new.txt").write_text(text, encoding="utf-8")
    found = model.evaluate(data=str(tmp_path / "new.txt")).scores
    costs = naive(model, text)
    mean = sum(costs) / len(text)
    assert found["perplexity"].n == found["bits_per_character"].n == 3001
    assert found["perplexity"].value == pytest.approx(math.exp(mean), rel=1e-4)
    assert found["bits_per_character"].value == pytest.approx(mean / math.log(2), rel=1e-4)
    assert found["nats_per_character"].value == pytest.approx(mean, rel=1e-4)
    assert [nats for _, nats in model.surprise(text)] == pytest.approx(costs, rel=1e-3, abs=1e-4)


def test_words_are_counted_by_tokens_and_by_characters(tmp_path: Path) -> None:
    model = trained(tmp_path, unit="word", steps=3)
    nn.init.zeros_(model.network.decoders["text"].output.weight)  # type: ignore[arg-type, union-attr]
    nn.init.zeros_(model.network.decoders["text"].output.bias)  # type: ignore[arg-type, union-attr]
    text = "the cat ran\na dog sat\n"
    (tmp_path / "new.txt").write_text(text, encoding="utf-8")
    found = model.evaluate(data=str(tmp_path / "new.txt")).scores
    size = model.columns["text"].size  # type: ignore[attr-defined]
    assert found["perplexity"].value == pytest.approx(size)
    assert found["perplexity"].n == 8  # six words, two line ends
    assert found["bits_per_character"].value == pytest.approx(8 * math.log2(size) / len(text))


def test_the_likeliest_token_is_drawn_at_temperature_0(run: Path) -> None:
    model = regard.load(run, device="cpu")
    text, column = "the ", model.columns["text"]
    pieces = [column.vocabulary.piece(number) for number in range(4, column.size)]  # type: ignore[attr-defined]
    for _ in range(6):
        text += min(pieces, key=lambda piece: naive(model, text + piece)[-1])
    assert model.generate("the ", length=6, temperature=0).text == text


def test_generated_texts_follow_from_seed_and_options(run: Path) -> None:
    model = regard.load(run, device="cpu")
    one = model.generate("a cat", length=40, seed=3)
    assert one.text.startswith("a cat") and len(one.text) == 45
    assert one.text == model.generate("a cat", length=40, seed=3).text
    assert one.text == "".join(model.stream("a cat", length=40, seed=3))
    assert one.text != model.generate("a cat", length=40, seed=4).text
    assert one.score == pytest.approx(-sum(naive(model, one.text)[5:]), rel=1e-3)
    likeliest = model.generate("a cat", length=40, temperature=0).text
    assert model.generate("a cat", length=40, top_k=1, seed=9).text == likeliest
    assert model.generate("a cat", length=40, top_p=1e-6, seed=9).text == likeliest
    assert model.generate("", length=0).text == ""


def test_draws_have_the_model_s_probabilities(run: Path) -> None:
    """The first character after a prompt, drawn 600 times, against its probabilities at temperature 0.5."""
    model = regard.load(run, device="cpu")
    column: Any = model.columns["text"]
    drawn = [model.generate("the cat ", length=1, temperature=0.5, seed=seed).text[-1] for seed in range(600)]
    pieces = [column.vocabulary.piece(number) for number in range(4, column.size)]
    weights = np.exp([-2 * naive(model, "the cat " + piece)[-1] for piece in pieces])
    for piece, share in zip(pieces, weights / weights.sum(), strict=True):
        deviation = math.sqrt(share * (1 - share) / 600)
        assert abs(drawn.count(piece) / 600 - share) < 5 * deviation + 1e-3


def command(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["regard", *arguments])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_generate_on_the_command_line(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = regard.load(run, device="cpu").generate("the ", length=30, temperature=0.8, top_p=0.9, seed=3).text
    how = ["--prompt", "the ", "--length", "30", "--temperature", "0.8", "--top-p", "0.9", "--seed", "3"]
    capsys.readouterr()
    assert command("generate", str(run), *how, monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == text + "\n"
    file, lines = tmp_path / "text.txt", tmp_path / "text.json"
    assert command("generate", str(run), *how, "-o", str(file), monkeypatch=monkeypatch) == 0
    assert file.read_text(encoding="utf-8") == text + "\n"
    assert command("generate", str(run), *how, "--json", str(lines), monkeypatch=monkeypatch) == 0
    assert json.loads(lines.read_text(encoding="utf-8"))["text"] == text


def test_score_and_show_say_how_surprising_a_text_is(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert command("score", str(run), "a", "cat", monkeypatch=monkeypatch) == 0
    captured = capsys.readouterr()
    lines = [line.split("\t") for line in captured.out.splitlines()]
    assert [token for _, token in lines] == ["a", "␣", "c", "a", "t"]
    costs = naive(regard.load(run, device="cpu"), "a cat")
    assert [float(nats) for nats, _ in lines] == pytest.approx(costs, abs=2e-4)
    told = float(captured.err.split()[1])
    assert told == pytest.approx(math.exp(sum(costs) / 5), abs=2e-3)
    figure = tmp_path / "surprise.svg"
    assert command("show", str(run), "a cat", "-o", str(figure), monkeypatch=monkeypatch) == 0
    assert "mean" in figure.read_text(encoding="utf-8")
    assert command("show", str(run), "a cat", monkeypatch=monkeypatch) == 0
    assert "How surprising" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["generate", "RUN", "--prompt", "the čat €"], ["'č' (U+010D)", "'€' (U+20AC)", "never saw"]),
        (["generate", "RUN", "--temperature", "-1"], ["temperature", "expected a number, 0 or more"]),
        (["generate", "RUN", "--top-p", "0"], ["top_p", "above 0"]),
        (["generate", "RUN", "--seed", "-1"], ["--seed", "Invalid value"]),
        (["generate", "RUN", "--seed", f"{10**20}"], ["--seed", "Invalid value"]),
        (["predict", "RUN", "a cat"], ["it continues a text", "regard generate"]),
        (["predict", "RUN", "-f", "EMPTY", "--column", "a", "--as", "b"], ["it continues a text"]),
        (["compare", "RUN", "RUN", "--text", "a", "-o", "a.svg"], ["it continues a text"]),
        (["show", "RUN", "--row", "3"], ["--row", "Give only a text"]),
        (["show", "RUN", "--gallery", "2"], ["it continues a text"]),
        (["evaluate", "RUN", "--metric", "bleu"], ["bleu is for outputs of type text"]),
        (["evaluate", "RUN", "--with", "RUN"], ["cannot be evaluated as an ensemble"]),
        (["evaluate", "RUN", "--data", "EMPTY"], ["the file is empty"]),
    ],
)
def test_what_cannot_be_is_refused(
    run: Path,
    tmp_path: Path,
    arguments: list[str],
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    named = {"RUN": str(run), "EMPTY": str(tmp_path / "empty.txt")}
    monkeypatch.setenv("COLUMNS", "300")
    capsys.readouterr()
    assert command(*(named.get(one, one) for one in arguments), monkeypatch=monkeypatch) == 2
    told = capsys.readouterr().err
    for word in words:
        assert word in told


def test_a_model_answers_or_continues_a_text(run: Path, tmp_path: Path) -> None:
    """`load` and `build` return the class of the spec; each class has only what it can do, and refuses the other."""
    answering = Spec.parse({"inputs": {"a": {"type": "text"}}, "outputs": {"b": {"type": "text"}}})
    rows = [{"a": "x", "b": "y"}]
    regard.model.build(answering, rows=rows).save(tmp_path / "answers")
    for folder, mine, other in (
        (tmp_path / "answers", regard.Model, regard.LanguageModel),
        (run, regard.LanguageModel, regard.Model),
    ):
        model = regard.load(folder, device="cpu")
        assert type(model) is mine is type(mine.load(folder, device="cpu"))
        own = {name for name in vars(other) if not name.startswith("_")} - {*dir(mine)}
        assert own and not any(hasattr(model, name) for name in own)
        with pytest.raises(RegardError, match=rf"regard\.{mine.__name__}\.load\({str(folder)!r}\)"):
            other.load(folder)
    for method in ("predict", "score", "batches", "searching"):
        assert not hasattr(regard.LanguageModel, method)
    for method in ("generate", "stream", "surprise", "surprises"):
        assert not hasattr(regard.Model, method)
    with pytest.raises(RegardError, match="this is not a language model"):
        regard.LanguageModel.build(answering, rows=rows)
    with pytest.raises(RegardError, match=r"Use  regard\.model\.load"):
        regard.model.AnyModel.load(run)


@pytest.mark.parametrize(
    "option",
    [
        {"length": "x"},
        {"length": 2.5},
        {"top_k": "x"},
        {"temperature": "warm"},
        {"top_p": "x"},
        {"seed": 1.5},
    ],
)
def test_options_of_another_type_are_refused(run: Path, option: dict[str, Any]) -> None:
    ((name, value),) = option.items()
    with pytest.raises(RegardError, match=rf"{name}: received {value!r}, expected a"):
        regard.load(run, device="cpu").generate("the ", **option)


@pytest.mark.parametrize("value", [None, 3, ["the "], b"the "])
def test_what_is_no_text_is_refused(run: Path, value: Any) -> None:
    model = regard.load(run, device="cpu")
    for method, name in (("generate", "prompt"), ("stream", "prompt"), ("surprise", "text")):
        with pytest.raises(RegardError) as caught:
            list(getattr(model, method)(value))
        assert str(caught.value) == f"{name}: received {value!r}, expected a text. Pass a text."


def test_a_long_text_is_scored_in_stretches_as_in_one(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (run.parent / "book.txt").read_text(encoding="utf-8")
    model = regard.load(run, device="cpu")
    cut = [text[low : low + 1000] for low in range(0, 3500, 1000)]
    whole = model.surprise("".join(cut))
    assert [
        (one.token, pytest.approx(one.nats, rel=1e-4, abs=1e-4)) for one in model.surprises(iter(cut))
    ] == whole
    long = tmp_path / "long.txt"  # more than one piece of the reader
    long.write_text("a line of the text\n" * 4000, encoding="utf-8")
    capsys.readouterr()
    assert command("score", str(run), "--file", str(long), monkeypatch=monkeypatch) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 76_000 and "over 76,000 tokens" in captured.err


def test_unknown_characters_of_a_scored_text_are_counted(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("score", str(run), "a日c本", monkeypatch=monkeypatch) == 0
    assert "2 of 4 tokens are outside the vocabulary: '日', '本'." in capsys.readouterr().err
    assert command("show", str(run), "a日c", monkeypatch=monkeypatch) == 0
    assert "1 of 3 tokens are outside the vocabulary: '日'." in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [{"unit": "char"}, {"unit": "word", "split": "punctuation", "case": "marked"}]
)
def test_a_line_without_end_is_shown_as_it_grows(options: dict[str, Any]) -> None:
    decoded = 0

    class Counted(StreamColumn):
        def decode(self, ids: Sequence[int]) -> str:
            nonlocal decoded
            decoded += len(ids)
            return super().decode(ids)

    column = Counted("text", **options)
    text = " ".join(f'He said, "No {number}!"' for number in range(300))
    column.learn([text])
    tokens = column.encode(text).tolist()
    assert "".join(map(Growing(column).add, tokens)) == text
    assert decoded < 100 * len(tokens)  # decoding each prefix anew would take n²/2


def test_a_text_of_rare_characters_alone_is_refused(tmp_path: Path) -> None:
    text = "".join(chr(0x4E00 + number) for number in range(2000))
    (tmp_path / "book.txt").write_text(text, encoding="utf-8")
    with pytest.raises(RegardError, match="none of the characters of this text occurs 20 times") as error:
        trained(tmp_path, min_count=20)
    assert error.value.where == "outputs.text.min_count"
    assert str(error.value.fix) == "Use a longer text, or  outputs={'text': {'min_count': 1}}"
    assert not (tmp_path / "run" / "model.safetensors").exists()


def test_a_text_shorter_than_a_batch_is_refused(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("one line of a text that is too short to train on", encoding="utf-8")
    with pytest.raises(RegardError, match="6 rows of 9 tokens need 54"):
        trained(tmp_path)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"training": {"bucket": 4}}, "bucket has no effect: the data are a text stream"),
        ({"training": {"batch_tokens": 4}}, "batch_tokens has no effect"),
        ({"search": {"method": "beam"}}, "method has no effect"),
        ({"inputs": {"x": {"type": "text"}}}, "a model that writes a stream has no inputs"),
        ({"decoder": {"type": "recurrent"}}, "cannot write a stream"),
        ({"decoder": {"type": "window", "order": 1}, "training": {"carry": False}}, "carry has no effect"),
        (
            {"decoder": {"output": "adaptive", "tie": "output"}},
            "tie: output needs output weights of one width",
        ),
        ({"decoder": {"cutoffs": [4]}}, "cutoffs has no effect"),
        ({"decoder": {"hidden_dropout": 0.1}}, "hidden_dropout has no effect"),
        ({"decoder": {"variational": True}}, "variational has no effect"),
        (
            {"outputs": {"text": {"type": "stream"}, "other": {"type": "stream"}}},
            "a stream must be the only output",
        ),
    ],
)
def test_specs_that_cannot_be_are_refused(document: dict[str, Any], words: str) -> None:
    with pytest.raises(RegardError, match=words):
        Spec.parse({"outputs": {"text": {"type": "stream"}}, **document})


def test_options_of_streams_belong_to_streams() -> None:
    document = {"inputs": {"a": {"type": "text"}}, "outputs": {"b": {"type": "text"}}}
    for option, value in (("span", 10), ("carry", False)):
        with pytest.raises(RegardError, match=f"{option} has no effect: no output is of type stream"):
            Spec.parse({**document, "training": {option: value}})


def test_parameters_of_an_adaptive_output_are_counted_as_they_will_be() -> None:
    adaptive = ["decoder.tie=none", "decoder.output=adaptive", "decoder.cutoffs=[30,70]", "decoder.size=32"]
    spec = zoo.find("lm-window", adaptive)
    formula = parameter_counts(spec, None)[0]["together"]
    constant, slope = (int(term.removesuffix(" V(text)").replace(",", "")) for term in formula.split(" + "))
    columns = make_columns(spec)
    columns["text"].pretend(96)
    assert count_parameters(build_network(spec, columns)) == constant + slope * 100
    columns["text"].pretend(50)
    with pytest.raises(RegardError, match="must be smaller than the vocabulary, which has 54 units"):
        build_network(spec, columns)


def test_a_model_with_self_attention_generates_from_its_cache_and_shows_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = trained(tmp_path, decoder=SELF, steps=8)
    column, decoder = model.column, model.decoder
    written = model.generate("the cat", length=20, temperature=0).text
    ids = [BEGIN, *column.encode("the cat").tolist()]
    for _ in range(20):  # without a cache: the whole text once more for each character
        logs, _ = decoder.following(torch.tensor([ids]), None)
        logs[:, :4] = -torch.inf
        ids.append(int(logs.argmax()))
    assert written == column.decode(ids[1:])
    trace = model.trace("a cat, a dog")
    assert list(trace.output) == list(column.tokens("a cat, a dog"))
    assert trace.input["text"][0] == "<s>" and len(trace.input["text"]) == len(trace.output)
    looks = trace.attention["text"]
    assert looks.shape == (12, 12) and list(trace.heads) == ["layer 1", "layer 2"]
    assert ((looks > 0) == (np.tri(12) - np.tri(12, k=-5) > 0)).all()
    np.testing.assert_allclose(looks, trace.heads["layer 2"].weights.mean(0), atol=1e-6)
    np.testing.assert_allclose(-trace.scores, [nats for _, nats in model.surprise("a cat, a dog")], atol=1e-5)
    drawn = {"looks.svg": (), "heads.html": ("--heads",), "words.svg": ("--panel", "probabilities")}
    for name, options in drawn.items():
        given = ("show", str(tmp_path / "run"), "a cat", "-o", str(tmp_path / name), *options)
        assert command(*given, monkeypatch=monkeypatch) == 0
        assert (tmp_path / name).stat().st_size > 500
    assert command("show", str(tmp_path / "run"), "a cat", monkeypatch=monkeypatch) == 0
    assert "log p" in capsys.readouterr().out


def test_a_model_without_attention_has_no_trace(run: Path) -> None:
    with pytest.raises(RegardError, match="no attention to show"):
        regard.load(run, device="cpu").trace("a cat")
