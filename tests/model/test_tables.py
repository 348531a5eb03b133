"""Tables as input: their cells in any order, from pairs and from JSON; copying, figures and mistakes."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.data import read_rows
from regard.data.columns import TableColumn, TextColumn, column_from_state
from regard.errors import RegardError
from regard.inspect import figure
from regard.model import Model
from regard.spec import Spec
from regard.trace import Trace
from regard.worlds import world

RECORD = {"name": "Old Mill", "food": "Greek", "price": "less than £20"}
SPEC: dict[str, Any] = {
    "inputs": {"record": {"type": "table"}},
    "outputs": {"sentence": {"type": "text"}},
    "encoder": {"words": {"embedding": 5}, "fields": 4, "size": 6},
    "attention": {"score": "additive"},
    "decoder": {"size": 6, "embedding": 4},
}
ROWS = [
    {"record": "name=Old Mill|food=Greek|price=less than £20", "sentence": "Old Mill is a cheap Greek pub"},
    {"record": "food=French|name=Red Oak", "sentence": "Red Oak is French"},
]


def made(**changes: Any) -> Model:
    torch.manual_seed(3)
    return Model.build(Spec.parse({**SPEC, **changes}), rows=ROWS)


@pytest.fixture(scope="module")
def model() -> Model:
    return made()


def test_pairs_and_json_are_the_same_cells() -> None:
    column = TableColumn("record")
    column.learn([row["record"] for row in ROWS])
    pairs, objects = column.encode(ROWS[0]["record"]), column.encode(column.written(RECORD))
    assert pairs.tolist() == objects.tolist()
    assert column.decode(pairs) == ROWS[0]["record"]
    assert column.tokens(json.dumps({"at": {"town": "Rome"}, "none": None, "list": ["a", 2], "yes": True})) == [
        "at.town: Rome", "list: a , 2", "yes: true",
    ]  # fmt: skip
    assert column.tokens('[{"a": 1}, {"a": 2}]') == ["1.a: 1", "2.a: 2"]
    again = column_from_state(json.loads(json.dumps(column.state())))
    assert again.encode(ROWS[1]["record"]).tolist() == column.encode(ROWS[1]["record"]).tolist()


def test_values_may_be_characters() -> None:
    column = TableColumn("record", unit="char")
    column.learn(["a=xy|b=z"])
    assert column.words.tokens(column.collate([column.encode("b=zx")]).buckets[0].ids[0].tolist()) == [
        "z",
        "x",
    ]


def test_a_batch_holds_what_the_rows_hold() -> None:
    column = TableColumn("record")
    column.learn([row["record"] for row in ROWS])
    batch = column.collate([column.encode(row["record"]) for row in reversed(ROWS)])
    assert column.readable(batch) == [
        ["food: French", "name: Red Oak"],
        ["name: Old Mill", "food: Greek", "price: less than £20"],
    ]
    assert column.seen(batch, 1).names == ("name", "food", "price")


def test_the_order_of_cells_does_not_matter(model: Model) -> None:
    before = model.predict({"record": RECORD})
    assert before.trace is not None
    weights = dict(zip(before.trace.input["record"], before.trace.attention["record"].T, strict=True))
    for order in permutations(RECORD):
        answer = model.predict({"record": {field: RECORD[field] for field in order}})
        assert answer.trace is not None and answer.text == before.text
        assert answer.score == pytest.approx(before.score, abs=1e-5)
        assert answer.trace.input["record"] == [f"{field}: {RECORD[field]}" for field in order]
        for piece, row in zip(answer.trace.input["record"], answer.trace.attention["record"].T, strict=True):
            np.testing.assert_allclose(row, weights[piece], atol=1e-5)


def test_field_and_value_both_matter(model: Model) -> None:
    def vector(text: str) -> torch.Tensor:
        column = model.columns["record"]
        found: torch.Tensor = model.network.encoders["record"](column.collate([column.encode(text)])).values[
            0, 0
        ]
        return found

    assert not torch.allclose(vector("name=Greek"), vector("food=Greek"))
    assert not torch.allclose(vector("food=Greek"), vector("food=French"))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("name=A|name=B", "has the field 'name' twice"),
        ('{"a": 1, "a": 2}', "has the field 'a' twice"),
        ("name", "has 'name', expected cells such as name=The Mill|food=Italian"),
        ("name=|food=", "has no cell with a value"),
        ("{}", "has no cell with a value"),
        ('{"a": [[1]]}', "has a list in a list in the field 'a'"),
        ('{"a"', "is not JSON"),
        (" ", "is empty"),
    ],
)
def test_a_mistake_is_told_with_its_cause(model: Model, record: str, said: str) -> None:
    with pytest.raises(RegardError) as caught:
        model.predict({"record": record})
    assert said in str(caught.value) and "record" in str(caught.value)


def test_json_lines_hold_objects(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        "\n".join(json.dumps({"record": RECORD, "sentence": "x"}) for _ in range(2)), encoding="utf-8"
    )
    (row, _) = read_rows(path, fields=["record", "sentence"])
    column = TableColumn("record")
    assert column.check_value(row["record"]) is None
    assert column.tokens(row["record"]) == [f"{field}: {value}" for field, value in RECORD.items()]
    assert TextColumn("record").check_value(row["record"]) == "has an object, expected text"


def test_words_of_a_value_are_copied() -> None:
    looking = {"attention": {"level": "both"}, "decoder": {"size": 6, "embedding": 4, "copy": True}}
    model = made(**looking)
    copying = model.network.decoders["sentence"].copying  # type: ignore[attr-defined]
    torch.nn.init.constant_(copying.gate.bias, -30.0)  # never generate
    answer = model.predict({"record": "name=Zzyzx Qux"}, max_length=4)
    assert set(answer.text.split()) <= {"Zzyzx", "Qux"} and answer.text


def test_the_figure_is_a_table(model: Model) -> None:
    trace = model.predict({"record": {**RECORD, "name": "Unseen <b>"}}).trace
    assert trace is not None and trace.seen["record"].names == ("name", "food", "price")  # type: ignore[attr-defined]
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    assert figure(again).svg() == figure(trace).svg()
    written = figure(trace).svg()
    assert "Unseen &lt;b&gt;" in written and ">food<" in written and ">less than £20<" in written


def test_the_world_says_each_cell_once() -> None:
    """Every linked word is a word of its value, or the word that the world has for it; unlinked ones are no value."""
    words = {"less than £20": "cheap", "£20-25": "moderate", "more than £30": "expensive", "coffee shop": "cafe",
             "city centre": "center", "1 out of 5": "poor", "3 out of 5": "decent", "5 out of 5": "great",
             "yes": "welcome", "no": "unwelcome"}  # fmt: skip
    made = world("restaurants", train=200, dev=20, test=20).splits()
    for row in [*made["train"], *made["test"]]:
        cells, said = list(json.loads(row["record"]).items()), row["sentence"].split()
        links = [tuple(map(int, link.split("-"))) for link in row["alignment"].split()]
        assert sorted({source for source, _ in links}) == list(range(len(cells)))
        for source, target in links:
            value = cells[source][1]
            assert said[target] in words.get(value, value).split()
    orders = {tuple(json.loads(row["record"])) for row in made["train"]}
    assert len({frozenset(order) for order in orders}) < len(orders)
