"""The images, videos and audio of a batch, for traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from regard.data.batch import Batch
from regard.data.columns import Column
from regard.data.media import Places
from regard.nn.memory import Memory
from regard.trace.prediction import Prediction


def with_seen(
    answers: Sequence[Prediction],
    batch: Batch,
    columns: Mapping[str, Column],
    encoded: Mapping[str, Memory],
    truths: Mapping[str, str],
) -> list[Prediction]:
    """The answers; their traces get the images, videos and audio of the inputs, and the layout of positions.

    truths   {input: the column of its true attention}}
    """
    shown = [name for name in encoded if columns[name].drawn]
    if not shown:
        return list(answers)
    collated = {name: batch[name].to("cpu") for name in shown}
    known_places = {
        name: batch[column].to("cpu")
        for name, column in truths.items()
        if name in shown and column in batch and isinstance(batch[column], Places)
    }
    found = []
    for row, answer in enumerate(answers):
        if answer.trace is None:
            found.append(answer)
            continue
        seen = {}
        for name in shown:
            one = columns[name].seen(collated[name], row)
            shape = encoded[name].shape
            if one is not None and shape is not None and len(shape) == 2:
                imposed = encoded[name].override is not None
                known = None if imposed else known_places.get(name)
                one = one.with_grid((shape[0], shape[1]), () if known is None else known.of_row(row))
            if one is not None:
                seen[name] = one
        layout = {**answer.trace.layout, **{name: encoded[name].layout for name in seen}}
        found.append(replace(answer, trace=replace(answer.trace, seen=seen, layout=layout)))
    return found
