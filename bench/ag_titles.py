"""AG News as articles and titles for headline generation, and the ROUGE of a lead baseline.

    python bench/ag_titles.py split local/data/ag_news          test.csv.xz → train.jsonl, dev.jsonl, test.jsonl there
    python bench/ag_titles.py lead local/data/ag_news/test.jsonl      ROUGE of the first eight words

The file holds 7,600 rows: class, title, description. A digest of the cleaned description decides whether a
row goes to train, dev or test, so the split is the same everywhere and equal descriptions stay together. A
repeated pair of description and title is kept once. The script undoes markup that the collection left behind
(`#39;`, `&lt;b&gt;`, backslashes) and removes the name of the agency from the beginning of the article (`NEW
YORK (Reuters) - `) and from the end of the title (`(Reuters)`).
"""

from __future__ import annotations

import argparse
import csv
import html
import json
import lzma
import re
from hashlib import blake2b
from pathlib import Path

from written import check, writing

from regard.metrics import metric
from regard.storage.files import write_text

TAG = re.compile(r"<[^<>]{1,200}>|&lt;.{1,200}?&gt;")
ENTITY = re.compile(r"\s*&?#(\d{2,4});")
AGENCY = re.compile(r"^(?:[A-Z][\w.,/&' ]{0,60}(?:\([\w .]{2,30}\))?\s+--?\s+){1,2}")
SOURCE = re.compile(r"\s*\([^()]{2,30}\)\s*$")
WORDS = 8
"""Length of the lead baseline: about as many words as a title has."""


def cleaned(text: str) -> str:
    """Remove HTML tags, entities and backslashes."""
    text = ENTITY.sub(lambda match: chr(int(match[1])), text.replace("\\", " "))
    return " ".join(TAG.sub(" ", html.unescape(text)).split())


def rows(path: Path) -> dict[str, list[dict[str, str]]]:
    """Articles and titles by split: about 8 % of the rows are dev, 10 % test."""
    found: dict[str, list[dict[str, str]]] = {"train": [], "dev": [], "test": []}
    seen: set[tuple[str, str]] = set()
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        for _, title, description in csv.reader(file):
            article, short = AGENCY.sub("", cleaned(description)), SOURCE.sub("", cleaned(title))
            if len(article.split()) < WORDS or len(short.split()) < 2 or (article, short) in seen:
                continue
            seen.add((article, short))
            digest = blake2b(article.encode(), digest_size=2).digest()[0]
            split = "dev" if digest < 20 else "test" if digest < 46 else "train"
            found[split].append({"article": article, "title": short})
    return found


def split(folder: Path, files: dict[str, Path]) -> None:
    for name, found in rows(folder / "test.csv.xz").items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
        with writing([files[name]]):
            write_text(files[name], lines)
        print(f"{files[name]}: {len(found):,} rows")


def lead(path: Path, words: int) -> None:
    """Print the ROUGE of the first words of each article."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    first = [" ".join(row["article"].split()[:words]) for row in found]
    for kind in ("rouge1", "rouge2", "rougeL"):
        score = metric(kind)(first, [[row["title"]] for row in found])  # type: ignore[operator]
        print(f"first {words} words  {kind} {score.value:.2f}  ({score.n:,} rows)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["split", "lead"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--words", type=int, default=WORDS)
    parser.add_argument("--overwrite", action="store_true", help="with split: replace files of these names")
    given = parser.parse_args()
    if given.command == "split":
        files = {name: given.path / f"{name}.jsonl" for name in ("train", "dev", "test")}
        check(parser, {str(file): file for file in files.values()}, overwrite=given.overwrite)
        split(given.path, files)
    else:
        lead(given.path, given.words)
