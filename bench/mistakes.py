"""Where a captioner looks when it writes a wrong word: at the thing that it misnames, or somewhere else.

    regard train caption
    python bench/mistakes.py runs/caption --split crowded
    python bench/mistakes.py runs/caption --split crowded --scores runs/caption.further.json

A caption with as many words as the true one has a wrong word wherever the two differ. The thing that the true word
describes is that of the next noun, whose region is known. Printed are, over all wrong words of the split, the share
whose most attended place is in that region, the same for the regions of the other things of the image, and the words
that are confused most often.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from written import parse, write_json

from regard import load
from regard.evaluation import open_dataset

CHUNK = 64


def measured(run: Path, split: str) -> dict[str, Any]:
    """Wrong words, hits in the region of their thing and in those of others, and what is confused."""
    model: Any = load(run, device="cpu")
    dataset = open_dataset(model, (), [split])
    (name,) = model.spec.outputs
    wrong, own, others = 0, 0, []
    confused: Counter[tuple[str, str]] = Counter()
    for first in range(0, len(dataset), CHUNK):
        rows = list(range(first, min(first + CHUNK, len(dataset))))
        batch = dataset.batch(rows)
        pairs = zip(model.answer(batch, output=name), model.score_batch(batch, name), strict=True)
        for answer, scored in pairs:
            trace, true = answer.trace, list(scored.trace.output)
            if len(true) != len(trace.output):
                continue
            ((key, truth),) = trace.truth.items()
            regions = np.asarray(truth) > 0
            nouns = [step for step in range(len(true)) if regions[step].any()]
            for step, (written, wanted) in enumerate(zip(trace.output, true, strict=True)):
                thing = next((noun for noun in nouns if noun >= step), None)
                if written == wanted or thing is None:
                    continue
                place = int(np.asarray(trace.attention[key])[step].argmax())
                wrong += 1
                own += bool(regions[thing][place])
                others += [bool(regions[noun][place]) for noun in nouns if noun != thing]
                confused[tuple(sorted((written, wanted)))] += 1
    return {
        "wrong": wrong,
        "own": own / max(1, wrong),
        "others": float(np.mean(others)) if others else 0.0,
        "confused": [[*pair, count] for pair, count in confused.most_common(8)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument(
        "--scores", type=Path, metavar="FILE", help="write the shares as scores of the split, for evidence.py"
    )
    options = parse(parser, "scores")
    found = measured(options.run, options.split)
    print(f"{found['wrong']} wrong words; the most attended place is")
    print(f"on the thing that is misnamed          {100 * found['own']:5.1f} %")
    print(f"on another thing of the image, each    {100 * found['others']:5.1f} %")
    for one, other, count in found["confused"]:
        print(f"  {count:3}  {one} and {other}")
    if options.scores is not None:
        shares = {
            f"mistakes_on_{what}": {"value": found[key], "n": found["wrong"]}
            for what, key in (("their_thing", "own"), ("another_thing", "others"))
        }
        write_json(options.scores, {options.split: shares})
    write_json(options.json, found)


if __name__ == "__main__":
    main()
