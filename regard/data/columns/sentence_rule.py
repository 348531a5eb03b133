"""Split a text into sentences. A sentence ends:

    1. At the end of a line: a line break, or <br> and <p> as in web pages.
    2. After . ! ? … (one or several, with closing quotation marks and brackets) if white space follows and the next
       word does not start with a lower-case letter; after 。！？ anywhere.
    3. But not after the period of a single capital letter except I ("J. Smith"), or of a word in `SHORTENED`
       ("Mr. Smith").

Blank sentences are dropped. Only white space and the line breaks of rule 1 are lost.
"""

from __future__ import annotations

import re

_SHORTENED = """
mr mrs ms dr prof st jr sr rev gen col capt lt sgt vs e.g i.e cf vol fig approx dept inc ltd corp
jan feb apr aug sept oct nov
"""
SHORTENED = frozenset(_SHORTENED.split())
"""Abbreviations whose period does not end a sentence, in lower case, without the period."""

_LINE = re.compile(r"\s*(?:[\r\n\x0b\x0c\x85\u2028\u2029]|<(?:br|/?p)\s*/?>)\s*", re.IGNORECASE)
_END = re.compile(r"(?:[。！？]+[」』”’）]*\s*|[.!?…]+[\"'”’»)\]]*\s+)")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]{1,12}$")


def sentences_by_rule(text: str) -> list[str]:
    """The sentences of a text, in order, without surrounding white space."""
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
    """Whether the sentence continues after a possible end."""
    mark = match[0].strip()
    if mark[0] in "。！？":
        return False
    if line[match.end()].islower():
        return True
    word = _LAST_WORD.search(line, max(0, match.start() - 12), match.start())
    if mark != "." or word is None:
        return False
    return (len(word[0]) == 1 and word[0].isupper() and word[0] != "I") or word[0].lower() in SHORTENED
