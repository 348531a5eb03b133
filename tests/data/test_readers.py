"""Readers: every format, every compression, and every kind of invalid file."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import json
import lzma
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import read_rows, values
from regard.errors import MissingExtra, RegardError

FIELDS = ("source", "target")
CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=12)


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def contents(path: Path | str, fields: tuple[str, ...] = FIELDS) -> list[dict[str, str]]:
    return [dict(row) for row in read_rows(path, fields=fields)]


PAIRS = [{"source": "a b", "target": "c"}, {"source": "straße", "target": "हिन्दी"}]


def test_tsv_with_and_without_a_header(tmp_path: Path) -> None:
    plain = written(tmp_path / "plain.tsv", "a b\tc\nstraße\tहिन्दी\n")
    headed = written(tmp_path / "headed.tsv", "id\ttarget\tsource\n1\tc\ta b\n2\tहिन्दी\tstraße")
    assert contents(plain) == contents(headed) == PAIRS
    assert [row.where for row in read_rows(headed, fields=FIELDS)] == [f"{headed}:2", f"{headed}:3"]


def test_byte_order_mark_carriage_returns_and_last_blank_lines_are_no_content(tmp_path: Path) -> None:
    path = written(tmp_path / "windows.tsv", "\ufeffa b\tc\r\nstraße\tहिन्दी\r\n\r\n\n")
    assert contents(path) == PAIRS


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "signs.tsv", "a\u2028b\tc\x0bd\x85e\n")
    assert contents(path) == [{"source": "a\u2028b", "target": "c\x0bd\x85e"}]


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6))
@settings(max_examples=50)
def test_any_cells_come_back_from_tsv_csv_and_json_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list
) -> None:
    folder = tmp_path_factory.mktemp("cells")
    expected = [{"source": source, "target": target} for source, target in rows]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([FIELDS, *rows])
    written(folder / "a.csv", text.getvalue())
    written(folder / "a.tsv", "\t".join(FIELDS) + "\n" + "".join(f"{s}\t{t}\n" for s, t in rows))
    written(folder / "a.jsonl", "".join(json.dumps(row) + "\n" for row in expected))
    for name in ("a.csv", "a.tsv", "a.jsonl"):
        assert contents(folder / name) == expected


@pytest.mark.parametrize("compression", ["gz", "xz", "zst"])
def test_compressed_files_and_those_cut_short(tmp_path: Path, compression: str) -> None:
    import zstandard

    content = "".join(f"source {n} {n * n * 7919}\ttarget {n}\n" for n in range(5000)).encode()
    pack = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstandard.ZstdCompressor().compress}[compression]
    whole = written(tmp_path / f"whole.tsv.{compression}", pack(content))
    assert contents(whole)[-1] == {"source": "source 4999 197895817919", "target": "target 4999"}
    assert len(contents(written(tmp_path / f"twice.tsv.{compression}", pack(content) * 2))) == 10000
    cut = written(tmp_path / f"cut.tsv.{compression}", pack(content)[:-200])
    with pytest.raises(
        RegardError, match=rf"cut\.tsv\.{compression}: the compressed file is damaged or cut short"
    ):
        contents(cut)
    wrong = written(tmp_path / f"wrong.tsv.{compression}", content)
    with pytest.raises(RegardError, match="damaged or cut short"):
        contents(wrong)


def test_csv_rows_begin_where_their_first_line_is(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", 'source,target\n"two\nlines, ""quoted""",x\nplain,y\nonly\n')
    rows = list(read_rows(path, fields=FIELDS).with_problems())
    assert rows[0]["source"] == 'two\nlines, "quoted"'
    assert [row.line for row in rows] == [2, 4, 5]
    assert rows[2].problem == "has 1 comma-separated cell, expected 2 (source, target)"


def test_csv_goes_on_after_a_broken_row(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", b'"a"b,c\nd,\xff\ne,f\n"open,g\n')
    rows = list(read_rows(path, fields=FIELDS).with_problems())
    assert "has a misplaced quote (',' expected after '\"')" in str(rows[0].problem)
    assert rows[1].problem == "is not UTF-8: byte 3 of the line is 0xff (invalid start byte)"
    assert dict(rows[2]) == {"source": "e", "target": "f"}
    assert "opens a quote that is not closed; `quotes: false`" in str(rows[3].problem)


def test_an_unclosed_quote_costs_its_own_row_alone(tmp_path: Path) -> None:
    lines = [f"s{number},t{number}\n" for number in range(60)]
    lines[20] = '"s20,t20\n'
    rows = list(read_rows(written(tmp_path / "a.csv", "".join(lines)), fields=FIELDS).with_problems())
    assert [row.line for row in rows if row.problem] == [21]
    assert [row["source"] for row in rows if not row.problem] == [f"s{n}" for n in range(60) if n != 20]


def test_lines_between_misplaced_quotes_are_bad_rows_one_by_one(tmp_path: Path) -> None:
    lines = [f"s{number},t{number}\n" for number in range(9)]
    lines[2], lines[5] = '"s2,t2\n', '"s5",t5\n'
    rows = list(read_rows(written(tmp_path / "a.csv", "".join(lines)), fields=FIELDS).with_problems())
    assert [(row.line, bool(row.problem)) for row in rows] == [(n, 3 <= n <= 6) for n in range(1, 10)]
    assert "has a misplaced quote in lines 3 to 6" in str(rows[2].problem)


def test_quotes_over_lines_that_are_rows_by_themselves_are_text(tmp_path: Path) -> None:
    """A quotation over three lines of an aligned book."""
    lines = [f"source {number}\ttarget {number}\n" for number in range(30)]
    lines[10], lines[12] = '"I am here\tje suis là\n', 'for ever"\ttoujours\n'
    rows = list(read_rows(written(tmp_path / "a.tsv", "".join(lines)), fields=FIELDS))
    assert len(rows) == 30 and rows[10]["source"] == '"I am here' and rows[12]["source"] == 'for ever"'
    lines[10:13] = ['"I am here\nfor ever"\ttoujours\n']  # two lines that are no rows by themselves
    rows = list(read_rows(written(tmp_path / "b.tsv", "".join(lines)), fields=FIELDS))
    assert len(rows) == 28 and rows[10]["source"] == "I am here\nfor ever"


@pytest.mark.parametrize("header", ["", "source;price;target\n"])
def test_decimal_commas_do_not_separate_cells(tmp_path: Path, header: str) -> None:
    lines = [f"word{number};{number},25" + f";unit{number}" * bool(header) for number in range(20)]
    rows = list(read_rows(written(tmp_path / "a.csv", header + "\n".join(lines)), fields=FIELDS))
    assert len(rows) == 20
    assert dict(rows[3]) == {"source": "word3", "target": "unit3" if header else "3,25"}
    numbers = written(tmp_path / "b.csv", "1,2\n3,4\n5,6\n")  # here the comma is all there is
    assert [row["target"] for row in read_rows(numbers, fields=FIELDS)] == ["2", "4", "6"]


def test_lines_that_end_in_carriage_returns(tmp_path: Path) -> None:
    rows = list(read_rows(written(tmp_path / "a.tsv", "a\tb\rc\td\r"), fields=FIELDS))
    assert [(row.line, dict(row)) for row in rows] == [
        (1, {"source": "a", "target": "b"}),
        (2, {"source": "c", "target": "d"}),
    ]


def test_json_values_as_text(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl",
        '{"source": {"en": "hi"}, "target": 1.50, "x": [1]}\n{"source": null, "target": true}\n',
    )
    assert contents(path, ("source.en", "target")) == [
        {"source.en": "hi", "target": "1.50"},
        {"target": "true"},
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"source": "a", "source": "b"}', "is not valid JSON: the key 'source' comes twice"),
        ('["a", "b"]', "is a JSON list, expected an object"),
        ('"a"', "is a JSON string, expected an object"),
        ('{"source": "a"', r"is not valid JSON: Expecting ',' delimiter at character 15"),
        ('{"source": NaN}', "is not valid JSON: NaN is not a JSON value"),
        ('{"source": ["a", {"b": 1}]}', "has a list in source, expected text"),
        ('{"source": "\\ud800"}', "has an unpaired surrogate in source"),
    ],
)
def test_bad_json_lines(tmp_path: Path, line: str, problem: str) -> None:
    path = written(
        tmp_path / "a.jsonl", f'{{"source": "a", "target": "b"}}\n{line}\n{{"source": "a", "target": "b"}}\n'
    )
    with pytest.raises(RegardError) as caught:
        contents(path)
    assert str(caught.value).startswith(f"{path}:2: the row ")
    assert problem in str(caught.value)
    assert "bad_rows: skip" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"a\tb\tc", "has 3 tab-separated cells, expected 2 (source, target)"),
        (b"a", "has 1 tab-separated cell, expected 2 (source, target)"),
        (b"good\tb\xe4d", "is not UTF-8: byte 7 of the line is 0xe4 (invalid continuation byte)"),
    ],
)
def test_bad_tsv_lines(tmp_path: Path, line: bytes, problem: str) -> None:
    path = written(tmp_path / "a.tsv", b"a\tb\n" * 6 + line + b"\nc\td\n")
    with pytest.raises(RegardError) as caught:
        contents(path)
    assert str(caught.value).startswith(f"{path}:7: the row {problem}.")
    assert len(list(read_rows(path, fields=FIELDS, bad_rows="skip"))) == 7


@given(st.binary(min_size=1, max_size=20).filter(lambda line: b"\n" not in line), st.integers(0, 5))
@settings(max_examples=60)
def test_any_bytes_give_rows_or_a_reason_with_the_right_line(
    tmp_path_factory: pytest.TempPathFactory, line: bytes, before: int
) -> None:
    path = written(tmp_path_factory.mktemp("bytes") / "a.tsv", b"x\ty\n" * (before + 1) + line + b"\nz\tw\n")
    rows = list(read_rows(path, fields=FIELDS).with_problems())
    try:
        text = line.removesuffix(b"\r").decode()
        readable, blank = (
            text.count("\t") == 1,
            not text.strip("\t") or (not text.strip() and "\t" not in text),
        )
    except UnicodeDecodeError:
        readable = blank = False
    numbers = [number for number in range(1, before + 4) if number != before + 2 or not blank]
    assert [row.line for row in rows] == numbers
    assert blank or (rows[before + 1].problem is None) == readable


def test_a_header_that_lacks_a_field_is_told_from_data(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", "source\ttarge\na\tb\n")
    with pytest.raises(
        RegardError,
        match=r"a\.tsv:1: the header has source, targe, but no target\. Rename 'targe' to 'target'",
    ):
        contents(path)


def test_parallel_files(tmp_path: Path) -> None:
    one = written(tmp_path / "t.en", "a b\nstraße\n")
    written(tmp_path / "t.hi.gz", gzip.compress("c\nहिन्दी\n".encode()))
    assert contents(f"{one}+{tmp_path / 't.hi.gz'}") == PAIRS
    written(tmp_path / "t.short", "c\n")
    with pytest.raises(RegardError, match=r"t\.en has 2 lines, .*t\.short has 1 lines"):
        contents(f"{one}+{tmp_path / 't.short'}")
    with pytest.raises(RegardError, match=r"2 text files given for 3 fields \(a, b, c\)"):
        contents(f"{one}+{one}", ("a", "b", "c"))
    written(tmp_path / "t.broken", b"x\n\xff\n")
    with pytest.raises(RegardError, match=r"t\.broken:2: the row is not UTF-8: byte 1"):
        contents(f"{one}+{tmp_path / 't.broken'}")


def test_a_text_file_of_one_field_and_a_name_with_a_plus(tmp_path: Path) -> None:
    path = written(tmp_path / "a+b.txt", "one\ntwo\n")
    assert contents(path, ("source",)) == [{"source": "one"}, {"source": "two"}]
    with pytest.raises(
        RegardError, match=r"a\+b\.txt: this is not a table: no tab, comma, semicolon or pipe"
    ):
        contents(path)


def test_parquet(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table(
        {"source": ["a", None, "c"], "target": [1, 2, 3], "other": [[True], [True], [False]]}
    )
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path)
    rows = list(read_rows(path, fields=FIELDS))
    assert [dict(row) for row in rows] == [
        {"source": "a", "target": "1"},
        {"target": "2"},
        {"source": "c", "target": "3"},
    ]
    assert rows[2].where == f"{path}:3"
    with pytest.raises(RegardError, match="has the columns source, target, other, but no word"):
        contents(path, ("word",))
    with pytest.raises(RegardError, match="the row has a list in other, expected text"):
        contents(path, ("other",))
    with pytest.raises(
        RegardError, match=r"not a readable Parquet file \(.*[^.]\)\. Download it or write it again"
    ):
        contents(written(tmp_path / "b.parquet", b"nonsense"))
    whole = path.read_bytes()
    damaged = written(tmp_path / "c.parquet", whole[:4] + bytes(60) + whole[64:])
    with pytest.raises(RegardError, match=r"c\.parquet: this is not a readable Parquet file"):
        contents(damaged)


def test_a_file_that_may_not_be_read_says_how_to_permit_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    path = written(tmp_path / "a b.tsv", "a\tb\n")
    monkeypatch.setattr("regard.data.readers.files.open_watched", refuse)
    with pytest.raises(
        RegardError, match=r"cannot be read \(Permission denied\)\. .*chmod u\+r '.*a b\.tsv'"
    ):
        contents(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    written(tmp_path / "train.tsv", "a\tb\n")
    with pytest.raises(RegardError, match=r"trian\.tsv: there is no such file\. Did you mean .*train\.tsv\?"):
        read_rows(tmp_path / "trian.tsv", fields=FIELDS)
    with pytest.raises(RegardError, match="this is a folder, expected a file"):
        read_rows(tmp_path, fields=FIELDS)
    with pytest.raises(RegardError, match=r"The folder .*nowhere does not exist either"):
        read_rows(tmp_path / "nowhere" / "a.tsv", fields=FIELDS)


def test_hub_names(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="named hf:name:split or hf:name:config:split"):
        contents("hf:name")
    if importlib.util.find_spec("datasets") is None:
        with pytest.raises(MissingExtra, match=r"hf:wmt14:de-en:train needs datasets.*regard\[hub\]"):
            contents("hf:wmt14:de-en:train")


def test_several_sources_and_values(tmp_path: Path) -> None:
    one, two = written(tmp_path / "1.tsv", "a\tb\n"), written(tmp_path / "2.tsv", "c\t \n")
    rows = read_rows([one, two], fields=FIELDS)
    assert [row["source"] for row in rows] == ["a", "c"] == [row["source"] for row in rows]
    assert list(values(rows, "source", "target")) == ["a", "b", "c"]


def test_fingerprint_follows_the_content(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", "a\tb\n")
    first = read_rows(path, fields=FIELDS).fingerprint()
    written(path, "a\tb\n")
    assert read_rows(path, fields=FIELDS).fingerprint() == first
    written(path, "a\tc\n")
    assert read_rows(path, fields=FIELDS).fingerprint() != first
