"""Models from spec to prediction: saved and loaded models give the same answers, in any batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import regard
from regard import Model, RegardError
from regard.data import Batches, Dataset, Row
from regard.evaluation import evaluate

from .small import build, rows, spec, words


def loss_of(model: Model, data: Sequence[Row]) -> float:
    dataset = Dataset.build(list(data), list(model.columns.values()))
    batch = next(iter(Batches(dataset, rows=len(data), shuffle=False)))
    losses = model.network(batch)
    return sum(loss.weight * loss.mean.item() for loss in losses.values())


CHO = {"type": "gru", "update": "cho"}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "attention": {},
    "no attention": {"attention": None, "decoder": {"size": 10, "embedding": 6, "condition": ["start"]}},
    "every step": {
        "attention": None,
        "decoder": {"size": 10, "embedding": 6, "condition": ["start", "every-step"]},
    },
    "only every step": {
        "attention": None,
        "decoder": {"size": 10, "embedding": 6, "condition": ["every-step"]},
    },
    "all three": {"decoder": {"size": 10, "embedding": 6, "condition": ["start", "every-step", "attention"]}},
    "luong": {"attention": {"score": "general", "state": "current"}, "decoder": {"cell": "lstm", "size": 10}},
    "local": {"attention": {"score": "general", "select": {"type": "local", "window": 2}}},
    "monotonic local": {"attention": {"select": {"type": "local", "window": 2, "center": "monotonic"}}},
    "sigmoid": {"attention": {"score": "linear", "select": "sigmoid"}},
    "segments": {"attention": {"score": "general", "select": "segments", "state": "current"}},
    "embeddings read by their states": {"encoder": {"size": 8, "embedding": 6, "values": "embeddings"}},
    "segments from the previous state": {"attention": {"select": {"type": "segments", "normalize": 0}}},
    "uniform": {"attention": {"select": "uniform"}},
    "dot": {"encoder": {"size": 5, "embedding": 6}, "attention": {"score": "scaled-dot"}},
    "convolutional": {"encoder": {"type": "convolutional", "size": 8, "embedding": 6}},
    "mean": {"encoder": {"type": "mean", "embedding": 6}},
    "stacked": {
        "encoder": {"cell": "lstm", "size": 8, "layers": 2, "residual": True},
        "decoder": {"cell": {"type": "rnn", "activation": "relu"}, "size": 10, "layers": 3, "residual": True},
    },
    "cho": {"encoder": {"size": 8, "cell": CHO}, "decoder": {"size": 10, "cell": CHO, "deep": True}},
    "tied": {"decoder": {"size": 10, "embedding": 6, "tie": "output"}},
    "tied to all": {
        "inputs": {"source": {"type": "text", "unit": "char"}},
        "outputs": {"target": {"type": "text", "unit": "char", "shared": "source"}},
        "decoder": {"size": 10, "embedding": 6, "tie": "all"},
    },
    "beam": {"search": {"method": "beam", "beam": 3, "n_best": 2, "max_length": 12}},
    "sampling": {"search": {"method": "sample", "temperature": 0.7, "top_k": 4, "max_length": 12}},
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_saved_and_loaded_gives_the_same_answers_in_any_batch(name: str, tmp_path: Path) -> None:
    model = build(spec(**CONFIGURATIONS[name]))
    inputs = words(9, seed=5)
    together = model.predict(inputs, batch_rows=9)
    model.save(tmp_path / "model")
    loaded = regard.load(tmp_path / "model", device="cpu")
    one_by_one = loaded.predict(inputs, batch_rows=1)
    for first, second in zip(together, one_by_one, strict=True):
        assert first.text == second.text
        assert first.score == pytest.approx(second.score, rel=1e-5, abs=1e-6)
        assert first.trace is not None
        assert second.trace is not None
        for over, weights in first.trace.attention.items():
            np.testing.assert_allclose(weights, second.trace.attention[over], atol=1e-5)


def test_a_model_folder_holds_what_it_promises_and_no_pickle(tmp_path: Path) -> None:
    build(spec()).save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "model.safetensors",
        "spec.yaml",
        "columns.json",
        "metrics.json",
        "card.md",
        "parts.json",
        "manifest.json",
    }
    for path in tmp_path.iterdir():
        assert not path.read_bytes().startswith(b"\x80")  # the first byte of a pickle
        assert b"PK\x03\x04" not in path.read_bytes()[:4]  # the signature of a torch archive


def test_scores_of_given_outputs_are_those_of_the_search() -> None:
    model = build(spec())
    for word in words(5, seed=3):
        found = model.predict(word)
        if found.trace is None or found.trace.output[-1] != "</s>" or not found.text:
            continue
        given = model.score([word], [found.text])[0]
        assert given.score == pytest.approx(found.score, rel=1e-5, abs=1e-6)
        assert given.trace is not None
        np.testing.assert_allclose(
            given.trace.attention["source"], found.trace.attention["source"], atol=1e-5
        )


def test_padding_changes_no_loss() -> None:
    model = build(spec())
    data = rows(12)
    counts = [len(row["target"].split()) + 1 for row in data]
    alone = sum(loss_of(model, [row]) * count for row, count in zip(data, counts, strict=True))
    assert loss_of(model, data) == pytest.approx(alone / sum(counts), rel=1e-5)


def test_several_outputs_add_their_weighted_losses() -> None:
    several = {
        "target": {"type": "text", "unit": "word"},
        "topic": {"type": "label"},
        "tags": {"type": "tags", "of": "source"},
    }
    decoders = {
        "target": {"size": 10, "attention": {"score": "additive"}},
        "topic": {"weight": 2.0, "attention": {"score": "additive"}},
        "tags": {"weight": 0.5},
    }
    model = build(spec(outputs=several, decoder=decoders, attention=None))
    dataset = Dataset.build(rows(8), list(model.columns.values()))
    losses = model.network(next(iter(Batches(dataset, rows=8, shuffle=False))))
    assert {name: loss.weight for name, loss in losses.items()} == {"target": 1.0, "topic": 2.0, "tags": 0.5}
    word = "abcde"
    topic = model.predict(word, output="topic")
    assert topic.value in ("yes", "no")
    assert sum(topic.probabilities.values()) == pytest.approx(1.0, abs=1e-5)
    assert topic.trace is not None
    assert topic.trace.attention["source"].shape == (1, 5)
    assert len(model.predict(word, output="tags").value) == 5
    with pytest.raises(RegardError, match="this model has several outputs"):
        model.predict(word)


def test_several_inputs_are_read_by_name() -> None:
    two = {"left": {"type": "text", "unit": "char"}, "right": {"type": "text", "unit": "char"}}
    data = [
        Row({"left": a, "right": b, "target": a.upper()})
        for a, b in zip(words(20), words(20, 9), strict=True)
    ]
    described = spec(inputs=two, attention={"score": "additive", "over": "right"})
    model = build(described, data)
    found = model.predict({"left": "abc", "right": "hgfed"})
    assert found.trace is not None
    assert set(found.trace.attention) == {"right"}
    assert model.predict({"left": "cba", "right": "hgfed"}).score != found.score
    with pytest.raises(RegardError, match="reads left, right; received a single value"):
        model.predict("abc")
    with pytest.raises(RegardError, match="no input 'middle'"):
        model.predict({"middle": "abc"})
    with pytest.raises(RegardError, match="right is missing"):
        model.predict({"left": "abc"})


def test_the_guide_pulls_attention_to_the_true_alignment(learning_seed: int) -> None:
    truth = {"alignment": {"type": "alignment"}}
    data = rows(60)

    def error_after_training(guide: float) -> float:
        described = spec(truth=truth, attention={"score": "additive", "guide": guide})
        model = build(described, data, seed=learning_seed)
        optimizer = torch.optim.Adam(model.network.parameters(), lr=0.02)
        dataset = Dataset.build(data, list(model.columns.values()))
        batch = next(iter(Batches(dataset, rows=60, shuffle=False)))
        for _ in range(60):
            optimizer.zero_grad()
            model.network(batch)["target"].mean.backward()
            optimizer.step()
        found = model.score([row["source"] for row in data], [row["target"] for row in data])
        right = total = 0
        for row, answer in zip(data, found, strict=True):
            assert answer.trace is not None
            weights = answer.trace.attention["source"]
            n = len(row["source"])
            right += sum(int(weights[t].argmax()) == n - 1 - t for t in range(n))
            total += n
        return 1 - right / total

    guided, free = error_after_training(1.0), error_after_training(0.0)  # 0 and 0.29 to 0.51 over four seeds
    assert guided < 0.1 and guided < 0.5 * free


def test_oracle_attention_is_the_truth_itself() -> None:
    described = spec(truth={"alignment": {"type": "alignment"}}, attention={"select": "oracle"})
    model = build(described)
    data = rows(3)
    dataset = Dataset.build(data, list(model.columns.values()))
    batch = next(iter(Batches(dataset, rows=3, shuffle=False)))
    for row, answer in zip(batch.rows, model.score_batch(batch, "target"), strict=True):
        assert answer.trace is not None
        n = len(data[row]["source"])
        expected = np.fliplr(np.eye(n))
        np.testing.assert_allclose(answer.trace.attention["source"][:n], expected, atol=1e-6)


def test_an_ensemble_of_twins_is_the_model_itself() -> None:
    model = build(spec(search={"method": "beam", "beam": 3, "max_length": 10}))
    inputs = words(4, seed=2)
    for alone, together in zip(
        model.predict(inputs), model.predict(inputs, ensemble=[model, model]), strict=True
    ):
        assert alone.text == together.text
        assert alone.score == pytest.approx(together.score, rel=1e-5, abs=1e-6)


def test_members_of_an_ensemble_must_share_the_output_vocabulary() -> None:
    other = build(spec(), [Row({"source": "ab", "target": "X Y"})])
    with pytest.raises(RegardError, match="the same vocabulary of 'target'"):
        build(spec()).predict("abc", ensemble=[other])


def test_members_of_an_ensemble_are_measured_on_the_same_rows() -> None:
    model = build(spec())
    few, more = (model.dataset(rows(count), ["target"]) for count in (3, 4))
    with pytest.raises(RegardError, match="one accepts 3, another 4"):
        evaluate(model, few, ensemble=[(model, more)])


def test_unknown_words_are_replaced_by_the_most_attended_source_word() -> None:
    words_to_words = {
        "inputs": {"source": {"type": "text", "unit": "word"}},
        "outputs": {"target": {"type": "text", "unit": "word"}},
        "search": {"max_length": 6, "replace_unknown": True},
    }
    data = [
        Row({"source": "the cat sat", "target": "le chat"}),
        Row({"source": "a dog ran", "target": "un chien"}),
    ]
    model = build(spec(**words_to_words), data)
    output: Any = model.network.decoders["target"]
    with torch.no_grad():  # a model that writes only the unknown word
        output.output.bias.zero_()
        output.output.bias[1] = 50.0
    found = model.predict("the dog Xerxes")
    assert found.trace is not None
    attended = [["the", "dog", "Xerxes"][int(row.argmax())] for row in found.trace.attention["source"][:-1]]
    assert found.text.split()[: len(attended)] == attended


@pytest.mark.parametrize("unit", ["char", "word", "subword"])
def test_units_outside_the_vocabulary_are_shown_as_typed(unit: str) -> None:
    model = build(spec(inputs={"source": {"type": "text", "unit": unit, "repeat": 2}}))
    for typed in ("bad", "axé"):
        trace = model.predict(typed).trace
        assert trace is not None and trace.input["source"] == 2 * model.columns["source"].tokens(typed)
        assert "<unk>" not in json.dumps(trace.to_dict()["input"])
    if unit == "char":
        assert trace.plot().title.startswith("axéaxé → ")


def test_a_scored_output_is_shown_as_typed() -> None:
    scored = build(spec()).score("abc", "A xyz B")
    assert scored.text == "A xyz B"
    assert scored.trace is not None and scored.trace.output == ["A", "xyz", "B", "</s>"]


def test_an_unknown_word_of_the_source_replaces_one_of_the_output() -> None:
    word = {"type": "text", "unit": "word"}
    described = spec(inputs={"source": word}, outputs={"target": word}, search={"replace_unknown": True})
    model = build(described, [Row({"source": "the cat", "target": "le chat"})])
    output: Any = model.network.decoders["target"]
    with torch.no_grad():  # a model that writes only the unknown word
        output.output.bias.zero_()
        output.output.bias[1] = 50.0
    assert set(model.predict("Xerxes", max_length=3).text.split()) == {"Xerxes"}


def test_a_forced_prefix_begins_every_output() -> None:
    model = build(spec(search={"max_length": 8}))
    assert model.predict("abcd", prefix="H G").text.startswith("H G")


def test_scheduled_sampling_rises_with_the_batches_seen() -> None:
    described = spec(decoder={"size": 10, "scheduled_sampling": {"share": 0.5, "steps": 4}})
    model = build(described)
    dataset = Dataset.build(rows(8), list(model.columns.values()))
    batch = next(iter(Batches(dataset, rows=8, shuffle=False)))
    model.network.train()
    decoder: Any = model.network.decoders["target"]
    seen = []
    for _ in range(6):
        seen.append(decoder.sampled_share())
        model.network(batch)
    assert seen == [0.0, 0.125, 0.25, 0.375, 0.5, 0.5]


def test_class_weights_are_checked_and_balanced() -> None:
    described = {"outputs": {"topic": {"type": "label"}}, "attention": None}
    data = [Row({"source": "abc", "topic": "yes"})] * 3 + [Row({"source": "bcd", "topic": "no"})]
    model = build(spec(**described, decoder={"class_weights": "balanced"}), data)
    decoder: Any = model.network.decoders["topic"]
    assert decoder.class_weights.tolist() == pytest.approx(
        [2.0, 2 / 3]
    )  # 4 rows / (2 classes · rows of the class)
    with pytest.raises(RegardError, match="'maybe' is not a class of topic"):
        build(spec(**described, decoder={"class_weights": {"maybe": 2.0}}), data)


def test_bad_inputs_are_told_with_their_number() -> None:
    model = build(spec(inputs={"source": {"type": "text", "unit": "char", "max_length": 5}}))
    with pytest.raises(RegardError, match=r"input:2: .*source is empty"):
        model.predict(["abc", "  "])
    with pytest.raises(RegardError, match=r"input:1: .*more than max_length 5"):
        model.predict(["abcdefgh"])
    assert model.predict([]) == []


def test_broken_folders_are_told(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="no such folder"):
        regard.load(tmp_path / "nowhere")
    with pytest.raises(RegardError, match="holds no finished model"):
        regard.load(tmp_path)
    build(spec()).save(tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:100])
    with pytest.raises(RegardError, match="the weights cannot be read"):
        regard.load(tmp_path / "model")
    weights.write_bytes(whole)
    written = (tmp_path / "model" / "spec.yaml").read_text(encoding="utf-8")
    (tmp_path / "model" / "spec.yaml").write_text(written.replace("size: 10", "size: 12"), encoding="utf-8")
    with pytest.raises(RegardError, match="this file was damaged or changed after the weights were saved"):
        regard.load(tmp_path / "model")
    columns = tmp_path / "model" / "columns.json"
    columns.write_text(json.dumps({"format": 99, "columns": {}}), encoding="utf-8")
    save_file(load_file(weights), weights)  # as saved before there were digests
    with pytest.raises(RegardError, match="this model has format 99"):
        regard.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda model: model.predict(None), "source: received a NoneType, expected a text"),
        (lambda model: model.predict(["ab", float("nan")]), "received nan, expected a text"),
        (lambda model: model.predict("ab", beam=0), "^beam=0: "),
        (lambda model: model.predict("ab", prefix="A Ö"), "prefix: the model cannot write 'Ö'"),
        (lambda model: model.score(["ab"], []), "inputs: 1, targets: 0"),
        (lambda model: model.score("ab", ["B A"]), "one of each, or two lists"),
        (lambda model: model.score(["ab"], [None]), "target: received a NoneType"),
    ],
)
def test_what_is_no_text_or_no_option_is_refused(call: Callable[[Model], Any], says: str) -> None:
    with pytest.raises(RegardError, match=says):
        call(build(spec()))


def test_one_pair_is_scored_as_in_a_list_of_one() -> None:
    model = build(spec())
    alone, listed = model.score("ab", "B A"), model.score(["ab"], ["B A"])
    assert len(listed) == 1
    assert alone.score == pytest.approx(listed[0].score) and alone.text == listed[0].text == "B A"


def test_inputs_come_in_whatever_holds_several() -> None:
    model = build(spec())
    expected = [answer.text for answer in model.predict(["ab", "ba"])]
    for several in (np.array(["ab", "ba"]), (text for text in ("ab", "ba")), ("ab", "ba")):
        answers = model.predict(several)
        assert isinstance(answers, list) and [answer.text for answer in answers] == expected


def test_the_options_of_predict_are_its_own_and_those_of_the_search() -> None:
    model = build(spec())
    for value in (3, None):
        with pytest.raises(RegardError, match=r"unknown key 'bean'\. Did you mean beam"):
            model.predict("ab", bean=value)  # type: ignore[call-overload]
    for name, value in {"seed": 3, "beam": 2, "n_best": 2, "max_length": 4}.items():
        assert name in (model.predict.__doc__ or "")
        assert model.predict("ab", **{name: None, "method": "beam"}).score <= 0  # type: ignore[call-overload]
        assert model.predict("ab", **{name: value}).score <= 0  # type: ignore[call-overload]


def test_what_a_notebook_prints_is_a_few_lines() -> None:
    model = build(spec())
    told = repr(model).splitlines()
    assert told[0].startswith("Model(") and len(told) <= 6
    assert any("reads" in line and "source: text" in line for line in told)
    trace = model.predict("abc").trace
    assert len(repr(trace).splitlines()) == 2
    assert "source: a b c (3 positions, attention" in repr(trace)
