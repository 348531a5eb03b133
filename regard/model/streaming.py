"""An answer that grows: its new characters after each token, and at the end the prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from regard.data.encoding import encode_rows
from regard.model.inference import limits_of, make_search, sample_keys
from regard.model.inputs import INPUT_REMEDY, Input
from regard.model.model import Model
from regard.nn.network import answering, faults_named
from regard.nn.search import growing
from regard.trace.prediction import Prediction


def can_stream(model: Model, output: str | None = None) -> str:
    """Why the answers of a model are known only at the end; empty if they grow token by token."""
    name = model.output_name(output)
    if not model.network.decoders[name].stepwise:
        return f"the decoder of {name!r} answers in one step."
    search = model.spec.search
    if make_search(search, [0], seed=0).choice(1) is None:
        return f"{search.method.part.named(search.method)} knows its answer at the end."
    return ""


@torch.inference_mode()
def stream_answer(
    model: Model, inputs: Input, *, output: str | None = None, trace: bool = False
) -> Iterator[str | Prediction]:
    """The new characters of the answer to one input after each token (empty where they are not final), and at the end
    the prediction that `model.predict` makes. `can_stream` says whether it can be done."""
    name = model.output_name(output)
    with answering(model), faults_named(lambda: model.spec):
        columns = [model.columns[one] for one in model.spec.inputs]
        rows = encode_rows([model.row(inputs, 1)], columns, remedy=INPUT_REMEDY)
        inference = model.inference(rows.batch([0]), name)
        keys = sample_keys([rows.raw(0)]) if model.spec.search.method.part.draws else [0]
        search: Any = make_search(model.spec.search, keys, seed=model.spec.training.seed)
        limits, stepper = limits_of(model.spec.search), inference.stepper()
        if model.spec.search.constraint:
            stepper = inference.obeying(stepper)
        shown, found = "", None
        for found in growing(stepper, search.choice(1), limits.of(stepper)):
            text = inference.answers(found, trace=False)[0].text
            new = text[len(shown) :] if text.startswith(shown) and not text.endswith("\ufffd") else ""
            shown += new
            yield new
        assert found is not None  # a search makes at least one step
        answers = inference.answers(found, trace=trace)
        yield inference.structured(inference.seen(answers), found, 0)[0] if trace else answers[0]
