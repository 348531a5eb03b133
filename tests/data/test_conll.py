"""CoNLL-U and CoNLL columns: rows from files, and files from rows without loss."""

from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import read_rows
from regard.data.readers.conllu import parse_conllu
from regard.errors import RegardError

TREEBANK = (
    "# newdoc\n"
    "# text = Don't you see it?\n"
    "1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tDo\tdo\tAUX\tVBP\tMood=Ind\t4\taux\t4:aux\t_\n"
    "2\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod\t_\n"
    "3\tyou\tyou\tPRON\tPRP\t_\t4\tnsubj\t4:nsubj\t_\n"
    "4\tsee\tsee\tVERB\tVB\tVerbForm=Inf\t0\troot\t0:root\t_\n"
    "4.1\tghost\tghost\tNOUN\tNN\t_\t_\t_\t4:obj\t_\n"
    "5\tit\tit\tPRON\tPRP\t_\t4\tobj\t4:obj\tSpaceAfter=No\n"
    "6\t?\t?\tPUNCT\t.\t_\t4\tpunct\t4:punct\t_\n"
    "\n"
    "# sent_id = 2\n"
    "1\t1 000\t1000\tNUM\tCD\t_\t0\troot\t_\t_\n"
    "\n"
)


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_rows_of_a_treebank(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"small.conllu{ending}"
    opener = {"": open, ".gz": gzip.open, ".xz": lzma.open}[ending]
    with opener(path, "wb") as stream:
        stream.write(TREEBANK.encode())
    fields = ["words", "lemmas", "upos", "tags", "xpos", "feats", "tree", "misc"]
    first, second = read_rows(path, fields=fields)
    assert first["words"] == "Do n't you see it ?", "ranges and empty nodes are no words"
    assert first["upos"] == first["tags"] == "AUX PART PRON VERB PRON PUNCT"
    assert first["xpos"] == "VBP RB PRP VB PRP ."
    assert first["feats"] == "Mood=Ind _ _ VerbForm=Inf _ _"
    assert first["tree"] == "4:aux 4:advmod 4:nsubj 0:root 4:obj 4:punct"
    assert (first.line, second.line) == (1, 12)
    assert second["words"] == "1␣000" and second["feats"] == "_"


def test_predicted_columns_replace_theirs_and_nothing_else() -> None:
    first, second = parse_conllu(io.BytesIO(TREEBANK.encode()))
    tree = ["4:aux", "4:advmod", "4:x", "0:root", "4:obj", "5:punct"]
    changed = first.replaced({"upos": ["A", "B", "C", "D", "E", "F"], "tree": tree})
    before, after = first.text.splitlines(), changed.text.splitlines()
    assert [line for line in after if line.startswith(("#", "1-2", "4.1"))] == [
        line for line in before if line.startswith(("#", "1-2", "4.1"))
    ]
    assert after[5] == "3\tyou\tyou\tC\tPRP\t_\t4\tx\t4:nsubj\t_"
    assert after[9] == "6\t?\t?\tF\t.\t_\t5\tpunct\t4:punct\t_"
    assert first.replaced(first_values(first)).text == first.text
    assert second.replaced({"tree": ["0"]}).text.splitlines()[1].split("\t")[6:8] == ["0", "_"]


def first_values(sentence: object) -> dict[str, list[str]]:
    fields = sentence.fields()  # type: ignore[attr-defined]
    return {name: fields[name].split() for name in ("upos", "xpos", "lemmas", "tree")}


cell = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=6).filter(
    lambda text: text.strip() and not text.startswith("#")
)
name = st.sampled_from(["nsubj", "obj", "acl:relcl", "root"])


@st.composite
def treebanks(draw: st.DrawFn) -> tuple[bytes, list[list[list[str]]]]:
    """A file, and the cells of its words."""
    lines, sentences = [], []
    for _ in range(draw(st.integers(1, 3))):
        length = draw(st.integers(1, 4))
        lines += [f"# {draw(cell)}" for _ in range(draw(st.integers(0, 2)))]
        words = []
        for number in range(1, length + 1):
            if draw(st.booleans()):
                lines.append(f"{number}-{number + 1}\t{draw(cell)}" + "\t_" * 8)
            middle = [draw(cell) for _ in range(5)]
            row = [
                str(number),
                *middle,
                str(draw(st.integers(0, length))),
                draw(name),
                draw(cell),
                draw(cell),
            ]
            lines.append("\t".join(row))
            words.append(row)
            if draw(st.booleans()):
                lines.append(f"{number}.1\t{draw(cell)}" + "\t_" * 8)
        lines.append("")
        sentences.append(words)
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(lines) + draw(st.sampled_from(["", end, end + end]))
    return text.encode(), sentences


@settings(max_examples=60, deadline=None)
@given(treebanks())
def test_a_file_comes_back_byte_for_byte(made: tuple[bytes, list[list[list[str]]]]) -> None:
    content, sentences = made
    found = list(parse_conllu(io.BytesIO(content)))
    assert "".join(sentence.text for sentence in found).encode() == content
    full = [sentence for sentence in found if sentence.words]
    assert [sentence.problem for sentence in full] == [None] * len(sentences)
    assert [sentence.cells() for sentence in full] == sentences
    for sentence, cells in zip(full, sentences, strict=True):
        same = {"upos": [row[3] for row in cells], "tree": [f"{row[6]}:{row[7]}" for row in cells]}
        assert sentence.replaced(same).text == sentence.text
        assert len(sentence.fields()["words"].split()) == len(cells), "a word stays one word"


BROKEN = [
    ("1\tDogs\tdog\tNOUN\t_\t_\t0\troot\t_\n\n", 1, "has 9 cells between tabs, expected 10"),
    (TREEBANK.replace("3\tyou", "7\tyou"), 6, "has the id '7', expected 3"),
    (TREEBANK.replace("VB\tVerbForm=Inf\t0", "VB\tVerbForm=Inf\tzero"), 7, "has the head 'zero'"),
    (TREEBANK.replace("you\tyou\t", "you\t\t"), 6, "has an empty cell lemma"),
    ("# text\n# more\n\n", 1, "is a sentence without words"),
]


@pytest.mark.parametrize(("text", "line", "reason"), BROKEN, ids=[row[2] for row in BROKEN])
def test_broken_lines_are_told_with_their_place(tmp_path: Path, text: str, line: int, reason: str) -> None:
    path = tmp_path / "broken.conllu"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RegardError, match=f"broken.conllu:{line}") as error:
        list(read_rows(path, fields=["words"]))
    assert reason in str(error.value)
    assert all(row.problem is None for row in read_rows(path, fields=["words"], bad_rows="skip"))


def test_bytes_that_are_not_utf8_come_back_too(tmp_path: Path) -> None:
    content = TREEBANK.encode().replace(b"it\tit", b"\xffit\tit")
    (first, second) = parse_conllu(io.BytesIO(content))
    assert first.problem is not None and first.problem[0] == 9 and "is not UTF-8" in first.problem[1]
    assert second.problem is None
    assert (first.text + second.text).encode(errors="surrogateescape") == content


CONLL_2003 = """-DOCSTART- -X- -X- O

EU NNP I-NP I-ORG
rejects VBZ I-VP O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER
"""


def test_conll_columns_by_name_and_by_number(tmp_path: Path) -> None:
    path = tmp_path / "eng.conll"
    path.write_text(CONLL_2003, encoding="utf-8")
    first, second = read_rows(path, fields=["words", "_", "chunks", "names"])
    assert dict(first) == {"words": "EU rejects", "chunks": "I-NP I-VP", "names": "I-ORG O"}
    assert (first.line, second.line) == (3, 6)
    (_, other) = read_rows(path, fields=["1", "4"])
    assert dict(other) == {"1": "Peter Blackburn", "4": "I-PER I-PER"}
    with pytest.raises(RegardError, match="has 4 columns, but 2 fields are named: words, names"):
        list(read_rows(path, fields=["words", "names"]))
    with pytest.raises(RegardError, match="no column 5; the file has 4"):
        list(read_rows(path, fields=["1", "5"]))


def test_conll_lines_of_another_width(tmp_path: Path) -> None:
    path = tmp_path / "eng.conll"
    path.write_text("a X\nb\n\nc Y\n", encoding="utf-8")
    with pytest.raises(
        RegardError, match=r"eng.conll:2.*has 1 columns, the first line of its sentence has 2"
    ):
        list(read_rows(path, fields=["words", "tags"]))
    assert [row["words"] for row in read_rows(path, fields=["words", "tags"], bad_rows="skip")] == ["c"]
