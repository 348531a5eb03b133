"""Does a reader find it? Ten questions at random, typed into the site's own search in Chromium.

    python bench/finding.py --json finding.json      # builds the site; ten questions, drawn by `random.Random(SEED)`
    python bench/finding.py --built --all            # the site that is there; every question
    python bench/finding.py --elsewhere              # ten of what users of other tools asked in their issues

`QUESTIONS` was written before anyone looked at the index; what no page answered is now answered in docs/questions.md.
`ELSEWHERE` are titles of issues of OpenNMT-py, JoeyNMT, pytorch-struct and yoyodyne, reworded; `ISSUE_SEED` was fixed
before the first search. A question is found if one of the first three hits leads to a place that answers it. Exit
status 1 if one of the asked is not. Needs Chromium and playwright (extra `dev`).
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from visiting import SITE, browsing, build, served
from written import parse, write_json

SEED = 20261123
ISSUE_SEED = 20261124
ASKED = 10
HITS = 3


@dataclass(frozen=True)
class Question:
    """What a reader wants to know, what he types, and the places that answer it: a page, or a page and its section."""

    text: str
    words: str
    places: tuple[str, ...]
    issue: str = ""

    def answered(self, page: str, section: str) -> bool:
        return page in self.places or f"{page}#{section}" in self.places


QUESTIONS = (
    Question(
        "How do I attend to two inputs?", "attend to two inputs", ("guide#a-model-is-data", "questions")
    ),
    Question("What does bridge mean?", "bridge", ("spec", "questions")),
    Question("How fast is it?", "how fast", ("performance", "questions")),
    Question("How do I add a cell?", "add a cell", ("extending#a-cell", "questions", "your-own-part")),
    Question("How do I resume a run?", "resume training", ("guide", "questions", "commands#regard-train")),
    Question(
        "How do I change where it looked?", "change attention", ("guide", "questions", "look-and-change")
    ),
    Question("How do I serve a model?", "http server", ("machines#serve-a-model", "questions")),
    Question("How do I load GloVe vectors?", "glove", ("guide#pretrained-vectors-and-encoders", "questions")),
    Question("Is there scheduled sampling?", "scheduled sampling", ("spec", "questions")),
    Question(
        "How do I forbid a word?", "forbid words in the output", ("guide#answers-that-obey", "questions")
    ),
    Question("How do I read my own file format?", "own file format", ("extending#a-reader", "questions")),
    Question("Does it use several GPUs?", "multi gpu", ("machines#train-on-several-devices", "questions")),
    Question("When does training stop?", "early stopping", ("spec", "questions", "guide")),
    Question("Is there label smoothing?", "label smoothing", ("spec", "questions")),
    Question("How do I train in half precision?", "mixed precision", ("spec", "performance", "questions")),
    Question(
        "How do I average several models?", "ensemble", ("guide#the-command-line", "commands", "questions")
    ),
    Question("How do I export to ONNX?", "onnx", ("machines#export-a-model", "commands#regard-export")),
    Question("How do I log to TensorBoard?", "tensorboard", ("machines#keep-track-of-runs", "guide", "spec")),
    Question(
        "How do I search for the best settings?",
        "hyperparameter search",
        (
            "machines#search-over-settings",
            "sweeps-and-reports",
            "commands#regard-sweep",
            "questions#how-do-i-search-for-hyperparameters",
        ),
    ),
    Question(
        "How do I share a model on the Hub?",
        "hugging face hub",
        ("commands#regard-push", "guide", "questions"),
    ),
    Question(
        "How do I get calibrated probabilities?",
        "calibration",
        (
            "guide#learning-from-little",
            "commands#regard-calibrate",
            "questions#how-sure-is-an-answer-calibration",
        ),
    ),
    Question("How do I build a vocabulary of subwords?", "bpe subword", ("guide#data", "spec", "questions")),
    Question(
        "Is there a copy mechanism?",
        "copy mechanism",
        ("guide#summaries-and-copying", "spec", "questions#is-there-a-copy-mechanism-and-coverage"),
    ),
    Question("Is there a coverage penalty?", "coverage", ("guide", "spec")),
    Question("How do I train a CRF tagger?", "crf tagger", ("tag", "guide#tags-and-trees")),
    Question("How do I train a dependency parser?", "dependency parser", ("parse", "guide#tags-and-trees")),
    Question("How do I caption images?", "image captioning", ("caption", "guide#pictures")),
    Question("How do I recognize speech?", "speech recognition", ("transcribe", "guide#speech")),
    Question("How do I classify documents?", "document classification", ("documents", "guide#documents")),
    Question("How do I build a chatbot?", "chatbot", ("chat", "guide#dialogs")),
    Question("What is a pointer network?", "pointer network", ("point", "guide#pointing-at-the-input")),
    Question(
        "Is there a neural Turing machine?",
        "neural turing machine",
        ("program", "guide#an-external-memory", "spec"),
    ),
    Question(
        "How do I train a language model?",
        "language model perplexity",
        ("guide#language-models", "performance#training-a-language-model"),
    ),
    Question("How do I distill a large model?", "knowledge distillation", ("guide", "spec", "questions")),
    Question(
        "Can I use BERT as an encoder?",
        "bert encoder",
        ("guide#a-pretrained-encoder", "spec", "questions#can-i-use-bert-or-whisper-as-a-pretrained-encoder"),
    ),
    Question(
        "How do I get an n-best list?", "n-best list", ("guide", "commands#regard-predict", "questions")
    ),
    Question("Can I trust the attention map?", "is attention an explanation", ("faithfulness", "questions")),
    Question("How do I use a semi-Markov CRF in PyTorch?", "semi-markov", ("structures#semimarkov",)),
    Question("I come from JoeyNMT", "joeynmt config", ("migration#joeynmt",)),
    Question(
        "I come from torch-struct", "torch-struct", ("structures#coming-from-torch-struct", "migration")
    ),
    Question("How do I write a metric?", "custom metric", ("extending#a-metric", "questions")),
    Question("Which Python and torch does it need?", "supported python versions", ("releasing", "index")),
    Question(
        "Is it safe to load someone's model?",
        "security pickle",
        ("reliability", "questions#is-it-safe-to-load-somebody-elses-model"),
    ),
    Question("How do I save a figure as PDF?", "save figure pdf", ("gallery", "guide", "questions")),
    Question(
        "How do I predict a million rows?",
        "predict large file",
        ("machines#answer-many-rows", "commands#regard-predict", "questions#how-do-i-predict-a-large-file"),
    ),
    Question("Are runs reproducible?", "reproducible seed", ("reliability", "questions", "guide", "spec")),
    Question("What is in a run's folder?", "run folder files", ("guide#the-folder-of-a-run",)),
    Question("Which license has it?", "license", ("licenses",)),
)


ELSEWHERE = (
    Question(
        "Low perplexity, but useless answers",
        "low perplexity but bad translations",
        ("questions",),
        "OpenNMT-py 19",
    ),
    Question(
        "The validation loss stays the same",
        "validation loss does not improve",
        ("questions",),
        "OpenNMT-py 966",
    ),
    Question(
        "What do empty lines in the data do?", "empty lines", ("guide#data", "questions"), "OpenNMT-py 1968"
    ),
    Question(
        "Which learning rate suits a Transformer?",
        "transformer learning rate",
        ("spec", "guide", "questions"),
        "OpenNMT-py 227",
    ),
    Question(
        "How do I train on two text files?",
        "parallel text files",
        ("guide#data", "translate", "migration#joeynmt", "questions"),
        "joeynmt 186",
    ),
    Question(
        "Can both sides share a vocabulary?",
        "joint vocabulary",
        ("migration#joeynmt", "spec", "guide", "questions"),
        "joeynmt 68",
    ),
    Question(
        "Does a new version open my old model?",
        "model of an older version",
        ("releasing#folders-of-models", "questions"),
        "joeynmt 195",
    ),
    Question(
        "How do I see the word alignment?",
        "visualize word alignment",
        ("gallery", "guide", "translate", "questions"),
        "OpenNMT-py 428",
    ),
    Question(
        "Can a word have features?", "word features", ("questions", "guide", "migration"), "OpenNMT-py 815"
    ),
    Question(
        "Can alignments guide the attention?",
        "guided alignment",
        ("guide", "spec", "questions"),
        "OpenNMT-py 1615",
    ),
    Question(
        "Can I differentiate through marginals?",
        "differentiate through marginals",
        ("structures", "structured-attention", "questions"),
        "pytorch-struct 72",
    ),
    Question(
        "Is the partition function a logarithm?",
        "log partition function",
        ("structures", "questions"),
        "pytorch-struct 64",
    ),
    Question(
        "Are there trees that cross?",
        "non-projective tree",
        ("structures#spanningtree", "spec", "questions"),
        "pytorch-struct 87",
    ),
    Question(
        "How fast is a chain?",
        "speed of a linear chain",
        ("structures", "performance", "questions"),
        "pytorch-struct 42",
    ),
    Question(
        "Can arcs have labels?",
        "labeled dependency tree",
        (
            "structures#projectivetree",
            "structures#spanningtree",
            "guide#tags-and-trees",
            "parse",
            "questions",
        ),
        "pytorch-struct 63",
    ),
    Question("Are there max-marginals?", "max-marginals", ("structures",), "pytorch-struct 84"),
    Question("The GPU is out of memory", "out of memory", ("questions",), "OpenNMT-py 2023"),
    Question(
        "The data are larger than memory",
        "data larger than memory",
        ("guide#data", "reliability", "questions"),
        "OpenNMT-py 573",
    ),
    Question(
        "How do I train on with new data?",
        "fine-tune on new data",
        ("guide#a-model-is-data", "questions"),
        "OpenNMT-py 728",
    ),
    Question(
        "How do I replace unknown words?",
        "replace unknown words",
        ("spec#search", "guide", "questions"),
        "OpenNMT-py 338",
    ),
    Question(
        "How do I keep the vocabulary?",
        "fixed vocabulary",
        ("guide#a-model-is-data", "spec", "questions"),
        "OpenNMT-py 355",
    ),
    Question(
        "When does the beam stop?", "beam search stop", ("questions", "spec#method-beam"), "joeynmt 149"
    ),
    Question("Are the n best answers different?", "n-best same answer", ("questions",), "OpenNMT-py 60"),
    Question(
        "How do I forbid repetitions?",
        "block repeated n-grams",
        ("questions", "guide#answers-that-obey"),
        "OpenNMT-py 745",
    ),
    Question(
        "Is there a transducer of edits?", "transducer", ("questions", "migration#yoyodyne"), "yoyodyne 12"
    ),
    Question(
        "Can features have an encoder?",
        "features encoder",
        ("migration#yoyodyne", "questions"),
        "yoyodyne 72",
    ),
    Question(
        "How do I summarize texts?",
        "summarization",
        ("guide#summaries-and-copying", "questions"),
        "OpenNMT-py 915",
    ),
    Question(
        "How do I choose the GPU?",
        "choose gpu",
        ("commands#regard-train", "machines#train-on-several-devices", "questions"),
        "OpenNMT-py 774",
    ),
)


def drawn(questions: tuple[Question, ...], seed: int) -> list[Question]:
    """Ten of them, always the same."""
    return random.Random(seed).sample(questions, ASKED)


def places(page: Any, url: str, words: str) -> list[tuple[str, str]]:
    """Type the words into the search of the first page: the pages and sections of the hits, best first."""
    page.goto(f"{url}/index.html", wait_until="load")
    page.locator(".md-search__button").click()
    page.get_by_role("combobox").or_(page.locator("input[type=text]")).first.fill(words)
    hits = page.locator("a[role=option]")
    try:
        hits.first.wait_for(timeout=20_000)
    except Exception:
        return []
    page.wait_for_timeout(300)
    found = [urlsplit(hits.nth(n).get_attribute("href") or "") for n in range(min(10, hits.count()))]
    return [(Path(one.path).stem, one.fragment) for one in found]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--built", action="store_true", help="do not build: search build/site as it is")
    parser.add_argument("--all", action="store_true", help="every question, not ten")
    parser.add_argument("--elsewhere", action="store_true", help="ask what users of other tools asked")
    options = parse(parser)
    if not options.built:
        build()
    pool, seed = (ELSEWHERE, ISSUE_SEED) if options.elsewhere else (QUESTIONS, SEED)
    asked = list(pool) if options.all else drawn(pool, seed)
    rows: dict[str, dict[str, Any]] = {}
    with served(SITE) as url, browsing() as browser:
        page = browser.new_page()
        for one in asked:
            hits = places(page, url, one.words)
            rank = next((n for n, hit in enumerate(hits, 1) if one.answered(*hit)), None)
            shown = ["#".join(filter(None, hit)) for hit in hits[:HITS]]
            rows[one.text] = {"words": one.words, "rank": rank, "hits": shown}
            print(
                f"{one.text:44}{one.words:30}{rank or 'lost':>5}  {', '.join(shown) or 'nothing'}", flush=True
            )
    lost = [text for text, row in rows.items() if row["rank"] is None or row["rank"] > HITS]
    print(f"{len(rows) - len(lost)} of {len(rows)} within the first {HITS} hits")
    write_json(options.json, {"seed": seed, "questions": rows})
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
