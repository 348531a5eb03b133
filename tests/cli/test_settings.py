"""Common settings as options and arguments: the model by its name, epochs, learning rate, batch; hints at others."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import regard as package
from regard import RegardError, Spec
from regard.cli.command import COMMAND_LINE
from regard.errors import said
from regard.fitting.pairs import infer
from regard.structures import LinearChain
from regard.training import Callback

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """words.tsv: letters to letters; classes.tsv: letters to one of two classes."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefg", k=draw.randint(3, 6))) for _ in range(60)]
    (tmp_path / "words.tsv").write_text("\n".join(f"{word}\t{' '.join(word[::-1])}" for word in words))
    (tmp_path / "classes.tsv").write_text("\n".join(f"{word}\t{'ae'[word[0] > 'c']}" for word in words))
    monkeypatch.chdir(tmp_path)


def kinds(spec: Spec) -> tuple[str, str]:
    return spec.encoder["source"].type, spec.decoder["target"].type


@pytest.mark.parametrize(
    "settings",
    [
        ["model=transformer"],
        ["encoder.type=transformer", "decoder.type=transformer"],
        ["encoder={type: transformer}", "decoder={type: transformer}"],
        ['encoder={"type": "transformer"}', 'decoder={"type": "transformer", "layers": 1}'],
        ["encoder=transformer", "decoder=transformer"],
    ],
)
def test_a_transformer_is_one_setting_away(settings: list[str]) -> None:
    found = infer("words.tsv", settings)
    assert kinds(found.spec) == ("transformer", "transformer")
    assert found.spec.training.schedule.warmup > 0  # a Transformer needs one
    assert infer("words.tsv").spec.training.schedule.warmup == 0


def test_a_model_is_an_encoder_a_decoder_or_both() -> None:
    assert kinds(infer("classes.tsv", ["model=transformer"]).spec) == ("transformer", "label")
    assert kinds(infer("words.tsv", ["model=convolutional"]).spec) == ("convolutional", "recurrent")
    assert kinds(infer("words.tsv", ["model=feed-forward"]).spec) == ("recurrent", "feed-forward")
    with pytest.raises(RegardError, match=r"no encoder or decoder 'transfomer'\. Did you mean transformer"):
        infer("words.tsv", ["model=transfomer"])
    with pytest.raises(RegardError, match="'crf' cannot read these inputs or write these outputs"):
        infer("words.tsv", ["model=crf"])


def test_the_model_is_told_with_the_option_that_changes_it() -> None:
    note = next(note for note in infer("words.tsv").notes if note.what == "model")
    assert note.decided == "recurrent encoder, recurrent decoder with attention"
    assert said(note.change, COMMAND_LINE) == "--model recurrent|transformer"


def test_options_of_train_reach_the_spec(regard: Run) -> None:
    options = [
        "--model",
        "transformer",
        "--epochs",
        "1",
        "--lr",
        "0.002",
        "--batch",
        "30",
        "-q",
        "--device",
        "cpu",
    ]
    code, _, err = regard("train", "words.tsv", *options, "-o", "run")
    assert code == 0, err
    spec = package.load("run", device="cpu").spec
    assert kinds(spec) == ("transformer", "transformer")
    assert (spec.training.epochs, spec.training.lr, spec.training.batch_rows) == (1, 0.002, 30)


def test_arguments_of_fit_reach_the_spec(capsys: pytest.CaptureFixture[str]) -> None:
    model = package.fit("classes.tsv", epochs=1, lr=0.002, batch=30, model="transformer", device="cpu")
    training = model.spec.training
    assert (training.epochs, training.lr, training.batch_rows) == (1, 0.002, 30)
    assert kinds(model.spec) == ("transformer", "label")
    out = capsys.readouterr().out
    assert "--" not in out, "options of the command line in Python"
    assert "model='recurrent|transformer'" in out and "dev=FILE" in out and "source=NAME, target=NAME" in out


def test_a_batch_size_replaces_the_other_kind() -> None:
    spec = Spec.parse({**infer("words.tsv").spec.written(), "training": {"batch_tokens": 500}})
    assert spec.changed("training.batch_rows=7").training.batch_tokens is None
    with pytest.raises(RegardError, match="both given"):
        spec.changed("training.batch_rows=7", "training.batch_tokens=9")


def test_a_model_is_refused_for_a_spec(regard: Run) -> None:
    code, _, err = regard("train", "reverse", "--model", "transformer")
    assert code == 2 and "--model works only with a data file" in err and "encoder: transformer" in err
    with pytest.raises(RegardError, match=r"^model: model works only with a data file"):
        package.fit([("a", "b")] * 20, spec="reverse", model="transformer")


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("epochs=3", "Did you mean training.epochs?"),
        ("learning_rate=3", "Did you mean training.lr?"),
        ("training.learning_rate=3", "Did you mean lr?"),
        ("training.batch_size=3", "Did you mean batch_rows?"),
        ("size=3", "Did you mean encoder.size or decoder.size?"),
        ("encoder.lr=3", "Did you mean training.lr?"),
        ("beam=3", "Did you mean search.beam?"),
        ("score=dot", "Did you mean attention.score?"),
        ("decoder={type:transformer}", "Write a space after the colon:  type: transformer"),
        ("metrics=[f1]", "chunk_f1"),
        ("attention=dot", "For example  attention: {score: dot}"),
        ("attention=none", "Write  attention: null"),
        ("encoder.cell.size=3", "Did you mean encoder.size or decoder.size?"),
    ],
)
def test_a_setting_at_another_place_is_pointed_to_its_own(regard: Run, setting: str, hint: str) -> None:
    code, _, err = regard("train", "words.tsv", "--set", setting, "--device", "cpu")
    assert code == 2 and hint in err


def test_an_unknown_option_is_pointed_to_its_setting(regard: Run) -> None:
    code, _, err = regard("train", "words.tsv", "--dropout", "0.1")
    assert code == 2 and "--set encoder.dropout=VALUE or --set decoder.dropout=VALUE" in err
    code, _, err = regard("train", "words.tsv", "--steps", "3")
    assert code == 2 and "--set training.steps=VALUE" in err


def test_an_attention_in_the_decoder_replaces_the_inferred_one() -> None:
    spec = infer("words.tsv", ["decoder.attention.score=general"]).spec
    assert [one.score.type for one in spec.decoder["target"].attention] == ["general"]
    assert not infer("words.tsv", ["decoder.attention=null"]).spec.decoder["target"].attention


def test_one_metric_needs_no_list() -> None:
    assert infer("words.tsv", ["metrics=exact"]).spec.metrics == ("exact",)


class Misspelled(Callback):
    def on_evaluate(self, figures: dict[str, Any]) -> None:
        raise AssertionError


class Watch(Callback):
    def __init__(self) -> None:
        self.steps: list[int] = []

    def on_step(self, figures: dict[str, Any]) -> None:
        self.steps.append(figures["step"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([lambda figures: None], "has none of the methods on_step, on_evaluation, on_end"),
        ([Misspelled()], "Misspelled.on_evaluate would never be called. Did you mean on_evaluation"),
        ([Watch], r"received the class Watch, expected an object of it. Write Watch\(\)"),
        (print, "expected a list of callbacks"),
    ],
)
def test_a_callback_that_would_never_be_called_is_refused(given: Any, message: str) -> None:
    with pytest.raises(RegardError, match=f"^callbacks: .*{message}"):
        package.fit("words.tsv", callbacks=given, device="cpu")
    assert not Path("runs").exists()


def test_the_most_probable_labels_are_printed_with_their_probabilities(regard: Run) -> None:
    model = package.fit("classes.tsv", run="labels", overrides=["training.steps=2"], device="cpu", quiet=True)
    likely = model.predict("abc").probabilities
    code, out, err = regard("predict", "labels", "abc", "--n-best", "5", "--device", "cpu")
    assert code == 0, err
    rows = [line.split("\t") for line in out.splitlines() if line]
    assert {label: pytest.approx(float(share), abs=1e-4) for share, label in rows} == likely
    assert [label for _, label in rows] == sorted(likely, key=lambda label: -likely[label])
    assert [one.text for one in model.predict("abc", n_best=1 + 1).alternatives] == [
        label for _, label in rows
    ]


def test_several_answers_need_a_beam_or_labels(regard: Run) -> None:
    changes = [
        "training.steps=1",
        "encoder.size=8",
        "decoder.size=8",
        "search.method=greedy",
        "search.max_length=4",
    ]
    model = package.fit("words.tsv", run="texts", overrides=changes, device="cpu", quiet=True)
    assert len(model.predict("abc", n_best=3).alternatives) == 3
    code, _, err = regard("predict", "texts", "abc", "--n-best", "3", "--beam", "2")
    assert code == 2 and "a beam of 2 cannot give 3 answers" in err
    Path("numbers.tsv").write_text("\n".join(f"{'ab' * n}\t{n}.5" for n in range(1, 60)))
    model = package.fit(
        "numbers.tsv", run="numbers", overrides=["training.steps=1"], device="cpu", quiet=True
    )
    with pytest.raises(RegardError, match=r"^n_best: the output 'target' has one answer for each input"):
        model.predict("abab", n_best=3)
    code, _, err = regard("predict", "numbers", "abab", "--n-best", "3", "--device", "cpu")
    assert code == 2 and "has one answer for each input" in err


def test_systems_are_listed_by_their_words(regard: Run) -> None:
    everything = regard("list")[1]
    some = regard("list", "image", "label")[1]
    assert "image-class" in some and "image-qa" in some and "translation" not in some
    assert len(everything.splitlines()) < 2 * len(package.zoo.names())
    assert "caption" in regard("list", "Xu")[1]
    code, _, err = regard("list", "imge")
    assert code == 2 and "no system of the zoo has 'imge'" in err and "Did you mean image?" in err


def test_states_are_pointed_to_value_of() -> None:
    chain = LinearChain(torch.zeros(2, 3, 4, 4))
    tags = torch.tensor([[0, 1, 2, 3], [1, 1, 0, 2]])
    with pytest.raises(ValueError, match=r"Convert states or tags with value_of\(states\)"):
        chain.log_prob(tags)
    assert chain.log_prob(chain.value_of(tags)).exp().sum() == pytest.approx(2 / 4**4)
