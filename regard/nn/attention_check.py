"""Checks of the attention of a part when a spec is checked: its input, its score, its selection and its truth."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from regard import parts
from regard.parts import Mistakes, Plan, names, nearest, part


def truths_about(plan: Plan, source: str, output: str, types: Collection[str]) -> dict[str, Any]:
    """The truth columns of these types that say where in `source` the decoder of `output` should look."""
    return {
        name: truth
        for name, truth in plan.truth.items()
        if truth.part.can_be(*types) and truth.part.between(truth, plan) == (source, output)
    }


def check_attention(
    options: Any,
    mistakes: Mistakes,
    *,
    user: str,
    gives: Collection[str],
    together: bool,
    truths: Mapping[str, Any] | None,
    truth_type: str = "alignment",
) -> None:
    """Refuse a score or selection whose needs its user cannot meet.

    user       name of the part that attends, as used in messages: "a recurrent decoder"
    gives      fields of `Given` that the user provides
    together   whether all queries are known at once, as a joint selection needs
    truths     truth columns that say where the user should look; None if there cannot be any
    truth_type type of the truth column to suggest if there is none
    """
    lacking = sorted(options.score.part.needs - set(gives))
    if lacking:
        mistakes.add(
            f"score: {options.score.type} needs {_WORDS.get(lacking[0], lacking[0])}, which {user} does not provide.",
            "score",
            fix=f"Choose one of {', '.join(_fitting('score', gives, together))}.",
        )
    select = options.select.part
    if not select.learns and "score" in options.model_fields_set:
        mistakes.add(
            f"score has no effect: select: {options.select.type} does not use scores.",
            "score",
            fix="Leave score out, or choose select: softmax.",
        )
    lacking = sorted(select.needs - set(gives))
    apart = select.joint == "queries" and not together
    if lacking or apart:
        why = "all queries at once" if apart else _WORDS.get(lacking[0], lacking[0])
        mistakes.add(
            f"select: {options.select.type} needs {why}, which {user} does not provide.",
            "select",
            fix=f"Choose one of {', '.join(_fitting('selection', gives, together))}.",
        )
    _check_truth(options, mistakes, user=user, truths=truths, truth_type=truth_type)


def _check_truth(
    options: Any, mistakes: Mistakes, *, user: str, truths: Mapping[str, Any] | None, truth_type: str
) -> None:
    select = options.select.part
    if options.guide and select.unguided:
        mistakes.add(
            f"guide cannot be used with select: {options.select.type}: {select.unguided}.",
            "guide",
            fix="Use select: softmax or local, or leave guide out.",
        )
        return
    needing = (
        "guide" if options.guide else f"select: {options.select.type}" if "truth" in select.needs else ""
    )
    if options.truth is not None and not needing:
        mistakes.add(
            "truth names an alignment that neither guide nor the selection uses.",
            "truth",
            fix="Add  guide: 1.0, or leave truth out.",
        )
    if not needing:
        return
    if truths is None:
        mistakes.add(
            f"{needing} needs a true alignment, and {user} cannot have one for this input.",
            "guide" if options.guide else "select",
            fix="Leave guide out." if options.guide else "Choose select: softmax.",
        )
    elif not truths:
        mistakes.add(
            f"{needing} needs the {_TRUTHS[truth_type]}, and no truth column links this input to this output.",
            "guide" if options.guide else "select",
            fix=f"Add  truth: {{{truth_type}: {{type: {truth_type}}}}}  and a field `{truth_type}` to the data.",
        )
    elif options.truth is not None and options.truth not in truths:
        mistakes.add(
            f"no truth column {options.truth!r}.", "truth", fix=parts.nearest(options.truth, list(truths))
        )


_TRUTHS = {
    "alignment": "true alignment",
    "places": "true regions",
    "facts": "supporting facts",
    "label_words": "words of each label",
}


_WORDS = {
    "previous": "the attention weights of the previous step",
    "step": "the step number",
    "query": "the query",
    "transitions": "scores of consecutive choices",
    "heads": "a tree from the data",
    "words": "queries and keys from the same text",
    "costs": "the loss of the words after a sample",
    "truth": "the true alignment",
}


def _fitting(kind: str, gives: Collection[str], together: bool) -> list[str]:
    """The parts of a kind whose needs are all met."""
    found = {name: part(kind, name) for name in names(kind)}
    return [
        name
        for name, one in found.items()
        if one.needs <= set(gives) and (together or getattr(one, "joint", "") != "queries")
    ]


def check_over(attention: Any, decoder: Any, plan: Plan, mistakes: Mistakes) -> None:
    """Require that the attended input exists, and is named if there are several."""
    read = decoder.over or tuple(plan.encoder)
    if attention.over is None and len(read) > 1:
        listed = ", ".join(f"{{over: {name}}}" for name in read)
        mistakes.add(
            f"this attention does not name its input, and there are several: {', '.join(read)}.",
            fix=f"Name each:  attention: [{listed}], or one:  attention: {{over: {read[0]}}}",
        )
    elif attention.over is not None and attention.over not in read:
        mistakes.add(
            f"no input is named {attention.over!r}.", "over", fix=nearest(attention.over, list(read))
        )
