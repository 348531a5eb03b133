"""Generate conclusions from SICK's sentences, and let a model trained on SICK judge them.

    python bench/entailment.py local/data/sick/SICK.txt.xz                all four ways; recipes/sick.yaml is the judge
    python bench/entailment.py SICK.txt.xz --only attention --set training.epochs=10
    python bench/entailment.py SICK.txt.xz --judge runs/sick              a judge that is trained already

Training uses the pairs whose first sentence entails the second (both directions where both hold); evaluation
uses those of TEST. A generator writes a sentence for every premise. The judge, which knows nothing of the
generator, decides whether the sentence follows. The table shows this share next to the judge's verdicts on
the true conclusions (it is not always right) and on the conclusions of other premises (the chance level of a
fluent sentence), and the judge's accuracy on SICK's test pairs. Some sentences only repeat their premise. The
main share includes them; the table also shows their share, and the share of entailed sentences among the
others.

Resumable: a finished run in --folder is not trained again. Prints a table, writes it with --json FILE.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from written import parse, write_json

import regard
from regard import Model, RegardError
from regard.data import read_rows
from regard.fitting.experiment import Experiment
from regard.model.loading import read_metrics
from regard.model.saving import versions
from regard.storage.files import write_text

RECIPES = Path(__file__).parent.parent / "recipes"
SPLITS = {"train": "TRAIN", "dev": "TRIAL", "test": "TEST"}
WAYS = {
    "start": ["decoder.condition=[start]", "attention=null"],
    "every-step": ["decoder.condition=[start, every-step]", "attention=null"],
    "attention": [],
    "copy": ["attention.state=current", "decoder.copy=true"],
}
ENTAILED = "ENTAILMENT"
FIELDS = ("sentence_A", "sentence_B", "entailment_AB", "entailment_BA", "SemEval_set")


def entailed(path: Path, split: str) -> list[tuple[str, str]]:
    """(premise, conclusion) pairs of a split; for training also the reversed pairs that hold."""
    found = []
    for row in read_rows(path, fields=FIELDS, format="tsv"):
        if row["SemEval_set"] != SPLITS[split]:
            continue
        first, second = row["sentence_A"], row["sentence_B"]
        if row["entailment_AB"] == "A_entails_B":
            found.append((first, second))
        if split == "train" and row["entailment_BA"] == "B_entails_A":
            found.append((second, first))
    return found


def trained(recipe: str, run: Path, settings: Sequence[str]) -> Model:
    if "scores" not in read_metrics(run):
        Experiment.start(str(RECIPES / recipe), run=run, overrides=settings, overwrite=True).train()
    return regard.load(run)


def judged(judge: Model, premises: Sequence[str], conclusions: Sequence[str]) -> list[bool]:
    """Whether the judge says that each conclusion follows; an empty conclusion does not."""
    first, second = judge.spec.inputs
    asked = [{first: one, second: other or "."} for one, other in zip(premises, conclusions, strict=True)]
    answers = judge.predict(asked, trace=False)
    return [answer.text == ENTAILED and bool(said) for answer, said in zip(answers, conclusions, strict=True)]


def share(found: Sequence[bool]) -> float:
    return sum(found) / max(len(found), 1)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sick", type=Path, help="SICK.txt, plain or .xz")
    parser.add_argument(
        "--only", nargs="+", choices=list(WAYS), default=list(WAYS), help="these ways to condition"
    )
    parser.add_argument(
        "--judge", type=Path, help="a trained model of SICK; default: recipes/sick.yaml, trained"
    )
    parser.add_argument("--folder", type=Path, default=Path("runs/entailment"))
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--split", choices=("dev", "test"), default="test", help="settings are chosen on dev")
    options = parse(parser)
    console = Console(highlight=False)
    options.folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for split in SPLITS:
        files[split] = options.folder.resolve() / f"sick-{split}.tsv"
        pairs = "".join(f"{premise}\t{conclusion}\n" for premise, conclusion in entailed(options.sick, split))
        write_text(files[split], "premise\thypothesis\n" + pairs)
    sick = [f"data.{split}={options.sick.resolve()}" for split in SPLITS]
    judge = (
        regard.load(options.judge) if options.judge else trained("sick.yaml", options.folder / "judge", sick)
    )
    accuracy = judge.evaluate("test").scores["accuracy"].value

    pairs = entailed(options.sick, options.split)
    premises = list(dict.fromkeys(premise.lower() for premise, _ in pairs))
    true = [(premise.lower(), conclusion.lower()) for premise, conclusion in pairs]
    others = [conclusion for _, conclusion in (*true[1:], *true[:1])]
    known = {
        "judge_accuracy": accuracy,
        "true": share(judged(judge, *map(list, zip(*true, strict=True)))),
        "others": share(judged(judge, [premise for premise, _ in true], others)),
    }
    found = {}
    for way in options.only:
        data = [f"data.{split}={path}" for split, path in files.items()]
        model = trained("sick-conclusions.yaml", options.folder / way, [*data, *WAYS[way], *options.settings])
        written = [answer.text for answer in model.predict(premises, trace=False)]
        right = judged(judge, premises, written)
        same = [one == other for one, other in zip(written, premises, strict=True)]
        new = [one for one, copied in zip(right, same, strict=True) if not copied]
        found[way] = {
            "entailed": share(right),
            "copies": share(same),
            "entailed_without_copies": share(new),
            "examples": [list(pair) for pair in zip(premises, written, right, strict=True)][
                :: len(premises) // 8
            ],
        }
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in ("", "judged entailed", "without copies", "copies of the premise"):
        table.add_column(head, justify="left" if not head else "right")
    for way, figures in found.items():
        cells = [figures[name] for name in ("entailed", "entailed_without_copies", "copies")]
        table.add_row(way, *(f"{100 * cell:.1f} %" for cell in cells))
    table.add_row("the true conclusions", f"{100 * known['true']:.1f} %", "", "")
    table.add_row("those of other premises", f"{100 * known['others']:.1f} %", "", "")
    console.print(table)
    right_on = f"the judge is right on {100 * accuracy:.1f} % of SICK's test pairs"
    console.print(f"{len(premises):,} premises of {options.split}; {right_on}.")
    for way, figures in found.items():
        for premise, written, right in figures["examples"][:4]:
            console.print(f"{way}: {premise}  →  {written}  ({'entailed' if right else 'not'})", markup=False)
    write_json(options.json, {**known, "found": found, "versions": versions()})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RegardError as error:
        sys.exit(f"error: {error}")
