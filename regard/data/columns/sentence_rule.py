"""Where the sentences of a text end.

    1. At the end of a line: a line break, or <br> and <p> as web pages write it.
    2. After . ! ? … (several of them, closing quotation marks and brackets behind them included) where white space
       follows and the next word does not begin with a small letter; after 。！？ wherever they stand.
    3. Not after a full stop that ends one capital letter but I ("J. Smith") or one of the words in `SHORTENED`
       ("Mr. Smith").

What is blank is no sentence. Nothing but white space and the marks of rule 1 is lost.
"""

from __future__ import annotations

import re

_SHORTENED = """
mr mrs ms dr prof st jr sr rev gen col capt lt sgt vs e.g i.e cf vol fig approx dept inc ltd corp
jan feb apr aug sept oct nov
"""
SHORTENED = frozenset(_SHORTENED.split())
"""Words whose full stop ends no sentence, in small letters and without it."""

_LINE = re.compile(r"\s*(?:[\r\n\x0b\x0c\x85\u2028\u2029]|<(?:br|/?p)\s*/?>)\s*", re.IGNORECASE)
_END = re.compile(r"(?:[。！？]+[」』”’）]*\s*|[.!?…]+[\"'”’»)\]]*\s+)")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]{1,12}$")


def sentences_by_rule(text: str) -> list[str]:
    """The sentences of a text, in their order, without the white space around them."""
    return [sentence for line in _LINE.split(text) for sentence in _in_line(line)]


def _in_line(line: str) -> list[str]:
    found, start = [], 0
    for match in _END.finditer(line):
        if match.end() < len(line) and _goes_on(line, match):
            continue
        found.append(line[start : match.end()].strip())
        start = match.end()
    return [sentence for sentence in (*found, line[start:].strip()) if sentence]


def _goes_on(line: str, match: re.Match[str]) -> bool:
    """Whether a sentence goes on behind what looks like its end."""
    mark = match[0].strip()
    if mark[0] in "。！？":
        return False
    if line[match.end()].islower():
        return True
    word = _LAST_WORD.search(line, max(0, match.start() - 12), match.start())
    if mark != "." or word is None:
        return False
    return (len(word[0]) == 1 and word[0].isupper() and word[0] != "I") or word[0].lower() in SHORTENED
