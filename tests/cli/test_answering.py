"""Lines of JSON become inputs by their names."""

from __future__ import annotations

import pytest

from regard import RegardError
from regard.data.sources.given import input_fields, parse_line
from tests.model.small import build, spec

TWO = {"source": {"type": "text", "unit": "char"}, "topic": {"type": "text", "unit": "char"}}


def test_a_mistyped_name_is_told_with_its_line_and_what_the_line_has() -> None:
    model = build(spec(inputs=TWO, attention=None, decoder={"size": 10, "embedding": 6}))
    assert parse_line('{"source": "abc", "topic": "no", "more": 1}', "x:1", input_fields(model.spec)) == {
        "source": "abc",
        "topic": "no",
    }
    with pytest.raises(RegardError) as caught:
        parse_line('{"source": "abc", "topci": "no"}', "lines.jsonl:7", input_fields(model.spec))
    assert "lines.jsonl:7: the input 'topic' is missing; the line has source, topci." in str(caught.value)
    assert "Every line needs source, topic." in str(caught.value)


def test_a_text_that_happens_to_be_json_is_a_text_where_there_is_one_input() -> None:
    model = build(spec())
    assert parse_line('{"a": 1}', "x:1", input_fields(model.spec)) == '{"a": 1}'
    assert parse_line('{"source": "abc"}', "x:1", input_fields(model.spec)) == {"source": "abc"}
