"""Unlabeled words for distillation that no part of a dictionary contains, from the English list of wordfreq.

    pip install wordfreq
    python examples/words_without_pronunciation.py train.tsv dev.tsv test.tsv > words.tsv

Words of 3 to 16 letters or apostrophes with at least one vowel letter, in capitals, most frequent first,
under the header `spelling`. A word in the first column of any of the files is left out, so that no test word
is seen in training. With the parts of CMUdict 0.7b and wordfreq 3.1.1 these are 205,344 words.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

WORD = re.compile(r"(?=.*[AEIOUY])[A-Z']{3,16}", re.ASCII)


def main(files: list[str]) -> None:
    if not files:
        sys.exit("name the files whose words are to be left out: train.tsv dev.tsv test.tsv")
    try:
        from wordfreq import top_n_list
    except ImportError:
        sys.exit("the list of words comes with the package wordfreq: pip install wordfreq")
    lines = (line for file in files for line in Path(file).read_text(encoding="utf-8").splitlines())
    known = {line.split("\t")[0].upper() for line in lines}
    words = (word.upper() for word in top_n_list("en", 10**7))
    print("spelling")
    for word in dict.fromkeys(words):
        if WORD.fullmatch(word) and word not in known:
            print(word)


if __name__ == "__main__":
    main(sys.argv[1:])
