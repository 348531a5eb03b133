"""N-best lists of a search and probabilities of labels: texts with bars, best first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from regard.inspect.drawings.ranking import Ranking
from regard.inspect.layout import Block, frame
from regard.inspect.scene import Group, Mark, Rect, Scene, Text
from regard.inspect.writing import signed, text_width, visible
from regard.trace import Trace
from regard.trace.prediction import Alternative

SIZE = 14.0
BAR = 120.0
LINE = 26.0


def beam(
    hypotheses: Trace | Sequence[Alternative] | Sequence[tuple[str, float]], *, title: str = ""
) -> Scene:
    """The hypotheses of a search, best first: text, log-probability, and a bar for the share of each.

    The share of hypothesis k is exp(score_k) / Σ_j exp(score_j) over the list, a measure of certainty.
    """
    listed = hypotheses.hypotheses if isinstance(hypotheses, Trace) else hypotheses
    pairs = [
        (one.text, one.score) if isinstance(one, Alternative) else (str(one[0]), float(one[1]))
        for one in listed
    ]
    best = max((score for _, score in pairs), default=0.0)
    powers = [math.exp(score - best) if math.isfinite(score) else 0.0 for _, score in pairs]
    total = sum(powers) or 1.0
    ranking = Ranking(
        texts=tuple(text for text, _ in pairs),
        scores=tuple(score for _, score in pairs),
        shares=tuple(power / total for power in powers),
        score_name="log p",
    )
    return frame(draw_ranking(ranking), title=title, description=_spoken(ranking))


def labels(probabilities: Mapping[str, float], *, title: str = "", most: int = 10) -> Scene:
    """The probabilities of the classes of a label, largest first, at most `most` of them."""
    ordered = sorted(probabilities.items(), key=lambda item: -item[1])[:most]
    shares = tuple(share for _, share in ordered)
    ranking = Ranking(tuple(name for name, _ in ordered), shares, shares, score_name="p")
    return frame(draw_ranking(ranking), title=title, description=_spoken(ranking))


def draw_ranking(ranking: Ranking) -> Block:
    """One line for each text: bar, score, text; the chosen one bold."""
    marks: list[Mark] = [
        Text(BAR + 58, 10, ranking.score_name, size=11, anchor="end", color="muted", italic=True)
    ]
    widest = 0.0
    for place, text in enumerate(ranking.texts):
        y = 18 + place * LINE
        middle = y + LINE / 2
        chosen = place == ranking.chosen
        share = min(1.0, max(0.0, ranking.shares[place]))
        marks += [
            Rect(0, middle - 4, BAR, 8, fill="faint", radius=4),
            Rect(0, middle - 4, max(8.0, BAR * share), 8, fill="accent", radius=4, opacity=1.0 if chosen else 0.6,
                 tip=f"{100 * share:.1f} % of this list"),
            Text(BAR + 58, middle + 4, signed(ranking.scores[place], 3), size=12, anchor="end", color="muted"),
            Text(BAR + 74, middle + 5, visible(text), size=SIZE, bold=chosen, tags=(("place", str(place)),)),
        ]  # fmt: skip
        widest = max(widest, text_width(visible(text), SIZE * 1.06))
    if not ranking.texts:
        marks = [Text(0, 14, "nothing to show", size=13, color="muted", italic=True)]
    height = 18 + max(1, len(ranking.texts)) * LINE
    return Block((Group(tuple(marks), kind="ranking", content=ranking),), BAR + 74 + widest, height)


def _spoken(ranking: Ranking) -> str:
    return "; ".join(
        f"{place + 1}. {visible(text)} ({score:.3f})"
        for place, (text, score) in enumerate(zip(ranking.texts, ranking.scores, strict=True))
    )
