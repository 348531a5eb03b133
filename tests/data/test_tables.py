"""Tables in any delimiter, encoding, header and quoting; the expected rows are written by hand."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.cli.command import COMMAND_LINE
from regard.data import read_rows
from regard.errors import RegardError, said

FIELDS = ("source", "target")
SIGNS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
ROWS = [{"source": "guten Tag", "target": "good day"}, {"source": "Straße", "target": "street"}]


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def contents(path: Path | str, fields: tuple[str, ...] = FIELDS) -> list[dict[str, str]]:
    return [dict(row) for row in read_rows(path, fields=fields)]


def remarks(path: Path | str, fields: tuple[str, ...] = FIELDS) -> str:
    return "\n".join(said(one, COMMAND_LINE) for one in read_rows(path, fields=fields).remarks())


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".tab", "", ".data"])
@pytest.mark.parametrize("sign", SIGNS.values())
@pytest.mark.parametrize("first", ["", "source{}target\n"])
def test_the_delimiter_is_found_whatever_the_name_of_the_file(
    tmp_path: Path, sign: str, ending: str, first: str
) -> None:
    text = first.format(sign) + f"guten Tag{sign}good day\nStraße{sign}street\n"
    assert contents(written(tmp_path / f"pairs{ending}", text)) == ROWS


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_are_found(tmp_path: Path, encoding: str) -> None:
    text = "source;target\r\nguten Tag;good day\r\nStraße;street\r\n"
    assert contents(written(tmp_path / "a.csv", text.encode(encoding))) == ROWS
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
    assert contents(written(tmp_path / "a.jsonl", lines.encode(encoding))) == ROWS


def test_a_file_in_utf_16_that_is_cut_short_names_its_last_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "a,b\nc,d\ne,f\n".encode("utf-16")[:-1])
    rows = list(read_rows(path, fields=FIELDS).with_problems())
    assert [dict(row) for row in rows[:2]] == [
        {"source": "a", "target": "b"},
        {"source": "c", "target": "d"},
    ]
    assert (rows[2].line, rows[2].problem) == (3, "is not UTF-16: the file ends within a character")


CELLS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs", "Cc"]), st.sampled_from(',;|\t"\n ')
    ),
    min_size=1,
    max_size=8,
)  # fmt: skip


@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6),
    sign=st.sampled_from(list(SIGNS.values())),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    ending=st.sampled_from([".csv", ".tsv", ".txt"]),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_pythons_csv_module_writes_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    sign: str,
    quoting: int,
    end: str,
    encoding: str,
    ending: str,
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=sign, quoting=quoting, lineterminator=end)  # type: ignore[arg-type]
    writer.writerow(("id", "source", "target"))
    writer.writerows((str(number), *row) for number, row in enumerate(rows))
    path = written(tmp_path_factory.mktemp("csv") / f"a{ending}", text.getvalue().encode(encoding))
    assert contents(path) == [{"source": source, "target": target} for source, target in rows]


def test_quoted_line_ends_keep_their_signs_and_rows_their_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", b'text;label\r\n"one\r\ntwo; ""three""";good\r\nfour;bad\r\n')
    rows = list(read_rows(path, fields=("text", "label")))
    assert [dict(row) for row in rows] == [
        {"text": 'one\r\ntwo; "three"', "label": "good"},
        {"text": "four", "label": "bad"},
    ]
    assert [row.line for row in rows] == [2, 4]


def test_quotes_between_tabs_are_text_unless_they_enclose_cells(tmp_path: Path) -> None:
    raw = written(tmp_path / "raw.tsv", '"Go," he said.\t"Va", dit-il.\n"Yes"\toui\n')
    assert contents(raw) == [
        {"source": '"Go," he said.', "target": '"Va", dit-il.'},
        {"source": '"Yes"', "target": "oui"},
    ]
    excel = written(tmp_path / "excel.tsv", '"a\tb"\t"say ""hi"""\nc\td\n')
    assert contents(excel) == [{"source": "a\tb", "target": 'say "hi"'}, {"source": "c", "target": "d"}]


def test_blank_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    table = written(tmp_path / "a.csv", "guten Tag,good day\n\n,\n   \nStraße,street\n\n")
    assert contents(table) == ROWS
    assert f"{table}: 4 blank lines were skipped." in remarks(table)
    lines = written(tmp_path / "a.jsonl", "\n" + "".join(f"{json.dumps(row)}\n\n" for row in ROWS))
    assert contents(lines) == ROWS
    assert "2 blank lines were skipped." in remarks(lines)  # a blank line at the end does not count
    one, two = (
        written(tmp_path / "a.de", "guten Tag\n\nStraße\n"),
        written(tmp_path / "a.en", "good day\n\nstreet\n"),
    )
    assert contents(f"{one}+{two}") == ROWS
    assert "1 blank line was skipped." in remarks(f"{one}+{two}")


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("text,label\nA fine film,pos\nA bad one,neg\n", True),
        ("Review Text,Sentiment\nA fine film,pos\nA bad one,neg\n", True),
        ("en,de\nhello,hallo\nday,Tag\n", True),
        ("alpha,beta\nx,1\ny,2\nz,3.5\n", True),  # numbers below a word
        ("quux,klass\n" + "this is a sentence,a\n" * 12, True),  # sentences below a word
        ("review,klass\n" + "good,a\nbad,b\n" * 6, True),  # labels below another word, beside a usual name
        ("cat,K AE T\ndog,D AO G\n", False),
        ("the,die\nhouse,Haus\n", False),
        ("Go.,Va !\nHi.,Salut !\n", False),
        ("1,2\n3,4\n", False),
        ("word 1,text 1\nword 2,text 2\nword 3,text 3\n", False),
        ("word,word\nday,Tag\n", False),
        ("aardvark,FW\n" + "house,NN\ngo,VB\n" * 6, False),  # a rare label alone is not a header
    ],
)
def test_a_first_line_that_looks_like_a_header_is_taken_for_one(
    tmp_path: Path, text: str, header: bool
) -> None:
    path = written(tmp_path / "a.csv", text)
    rows = [line.split(",") for line in text.splitlines()][1 if header else 0 :]
    assert contents(path) == [{"source": source, "target": target} for source, target in rows]
    told = remarks(path)
    assert ("the first line is read as a header" in told) == header
    assert ("the first line is read as a row" in told) != header
    assert f"header: {'false' if header else 'true'}" in told


def test_what_is_found_can_be_set(tmp_path: Path) -> None:
    from regard.data.readers.csv import CsvReader

    path = written(tmp_path / "a.csv", "text,label\na,b;c\n")

    def read(**options: object) -> list[dict[str, str]]:
        rows = read_rows(path, fields=FIELDS, format=CsvReader(**options))
        return [dict(row) for row in rows]

    assert read() == [{"source": "a", "target": "b;c"}]
    assert read(header=False) == [
        {"source": "text", "target": "label"},
        {"source": "a", "target": "b;c"},
    ]
    quoted = written(path, '"a","b"\n"c","d"\n')
    assert contents(quoted)[0] == {"source": "a", "target": "b"}
    assert read(quotes=False)[0] == {"source": '"a"', "target": '"b"'}


def test_columns_by_name_and_by_number_and_the_others_ignored(tmp_path: Path) -> None:
    headed = written(tmp_path / "a.csv", "id,text,label,stars\n1,fine,pos,5\n2,poor,neg,1\n")
    expected = [("fine", "pos"), ("poor", "neg")]
    for fields in (("text", "label"), ("2", "3"), ("text", "3")):
        assert [tuple(row.values()) for row in contents(headed, fields)] == expected
    bare = written(tmp_path / "b.tsv", "pos\t9\tfine\nneg\t1\tpoor\n")
    assert contents(bare, ("3", "1")) == [{"3": "fine", "1": "pos"}, {"3": "poor", "1": "neg"}]
    with pytest.raises(RegardError) as caught:
        contents(bare)
    assert f"{bare}: the table has 3 columns, but 2 are needed (source, target)" in str(caught.value)
    assert "1 (pos), 2 (9), 3 (fine)" in str(caught.value)
    assert "regard.fit(FILE, source=NAME, target=NAME)" in str(caught.value)
    with pytest.raises(RegardError, match="3 columns, but 2 are needed"):
        contents(bare, ("4", "1"))


def test_a_header_without_the_names_of_the_fields_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", "german\tenglish\nguten Tag\tgood day\nStraße\tstreet\n")
    assert contents(path) == ROWS
    told = remarks(path)
    assert "the first line is read as a header (german, english)" in told
    assert "the columns are source, target, in this order" in told


def test_what_stands_before_the_header_is_a_bad_row_and_no_header(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "exported today\n\ntarget,source\ngood day,guten Tag\nstreet,Straße\n")
    rows = list(read_rows(path, fields=FIELDS).with_problems())
    assert (rows[0].line, rows[0].problem) == (1, "has 1 comma-separated cell, expected 2 (target, source)")
    assert [dict(row) for row in rows[1:]] == ROWS


def test_a_table_without_a_single_good_row_gives_its_reasons(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", b"\xff\ta\n\n\xfe\tb\n")
    rows = list(read_rows(path, fields=FIELDS).with_problems())
    assert [row.line for row in rows] == [1, 3]
    assert all("is not UTF-8: byte 1" in str(row.problem) for row in rows)


def test_parallel_files_in_other_folders_and_of_other_endings(tmp_path: Path) -> None:
    for folder in ("d", "e"):
        (tmp_path / folder).mkdir()
    one = written(tmp_path / "d" / "a.de", "guten Tag\nStraße\n")
    two = written(tmp_path / "e" / "b.txt", "good day\r\nstreet")
    assert contents(f"{one}+{two}") == ROWS


def test_a_file_inside_a_zip_archive(tmp_path: Path) -> None:
    archive = tmp_path / "pairs.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr("about.md", "something")
        target.writestr("deep/pairs.txt", "guten Tag\tgood day\nStraße\tstreet\n")
    assert contents(archive / "deep" / "pairs.txt") == ROWS
    first = read_rows(archive / "deep" / "pairs.txt", fields=FIELDS).digest()
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr("deep/pairs.txt", "guten Tag\tgood day\nStraße\troad\n")
    assert read_rows(archive / "deep" / "pairs.txt", fields=FIELDS).digest() != first
    with pytest.raises(RegardError, match=r"pairs\.zip: this is an archive of deep/pairs\.txt\. Name a file"):
        contents(archive)
    with pytest.raises(RegardError, match=r"holds no such file\. Did you mean .*deep/pairs\.txt"):
        contents(archive / "deep" / "pair.txt")


def test_nested_fields_of_json_lines(tmp_path: Path) -> None:
    lines = [{"id": 1, "translation": {"de": "guten Tag", "en": "good day"}}, {"translation": {"de": None}}]
    path = written(tmp_path / "a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    rows = list(read_rows(path, fields=("translation.de", "translation.en")))
    assert [dict(row) for row in rows] == [{"translation.de": "guten Tag", "translation.en": "good day"}, {}]
    assert rows[1].where == f"{path}:2"
    found = read_rows(path, fields=("id",)).found()
    assert [field.name for field in found] == ["id", "translation.de", "translation.en"]
