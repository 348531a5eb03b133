"""Many rows in shards: the answers of `regard predict`, in order, resumed, with bad rows in their places.

bench/shards.py kills a process, and times the engine on Ray.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from regard.errors import RegardError
from regard.model import load
from regard.shards import BatchPredictor, FileWork, PartAnswers, ShardJob, Summary, plain, predict_files
from tests.model.small import build, spec, words

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model with one text as its input; `z` is no letter that it knows."""
    folder = tmp_path_factory.mktemp("shards") / "run"
    build(spec(search={"max_length": 8})).save(folder)
    return str(folder)


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    """25 words in three files, as text, JSON lines and a table."""
    some = words(25)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("".join(f"{word}\n" for word in some[:10]))
    (tmp_path / "in" / "b.jsonl").write_text(
        "".join(json.dumps({"source": word}) + "\n" for word in some[10:17])
    )
    table = ["source\ttarget", *(f"{word}\tA" for word in some[17:])]
    (tmp_path / "in" / "c.tsv").write_text("\n".join(table) + "\n")
    return some


def merged(out: Path, ending: str = "jsonl") -> list[str]:
    """The parts in the order of their names, as `cat` joins them."""
    return "".join(part.read_text() for part in sorted(out.glob(f"part-*.{ending}"))).splitlines()


def done(run: str, tmp_path: Path, out: str = "out", **options: object) -> Summary:
    files = options.pop("files", [str(tmp_path / "in" / "*")])
    return predict_files(run, files, tmp_path / out, part_rows=4, device="cpu", **options)  # type: ignore[arg-type]


def test_a_folder_of_files_is_answered_in_order(run: str, tmp_path: Path, inputs: list[str]) -> None:
    summary = done(run, tmp_path)
    assert (summary.rows, summary.rejected, summary.before) == (25, 0, 0)
    found = [json.loads(line) for line in merged(tmp_path / "out")]
    assert [one["input"] for one in found] == inputs
    truth = load(run, device="cpu").predict(inputs, trace=False)
    assert [one["text"] for one in found] == [one.text for one in truth]
    assert [one["score"] for one in found] == pytest.approx([one.score for one in truth], rel=1e-5)
    assert len(list((tmp_path / "out").glob("part-*"))) == 3 + 2 + 2


@pytest.mark.parametrize("count", [2, 3])
def test_shards_need_no_word_of_each_other(run: str, tmp_path: Path, inputs: list[str], count: int) -> None:
    """Each in a folder of its own; their parts together are those of one process."""
    done(run, tmp_path, "whole")
    seen: dict[str, bytes] = {}
    for number in range(1, count + 1):
        done(run, tmp_path, f"shard-{number}", shard=f"{number}/{count}")
        parts = {part.name: part.read_bytes() for part in (tmp_path / f"shard-{number}").glob("part-*")}
        assert not set(seen) & set(parts)
        seen |= parts
    assert seen == {part.name: part.read_bytes() for part in (tmp_path / "whole").glob("part-*")}


def test_many_files_are_dealt_as_wholes(run: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(16):
        (tmp_path / "in" / f"{number:02}.txt").write_text("ab\n" * 5)
    done(run, tmp_path, shard="1/2")
    assert {part.name[:10] for part in (tmp_path / "out").glob("part-*")} == {
        f"part-{number:05}" for number in range(0, 16, 2)
    }


def test_a_bad_row_keeps_its_place(run: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [b"ab", b"", b"ca", b"\xff", b"de", b"fa"]
    (tmp_path / "in" / "a.txt").write_bytes(b"\n".join(lines) + b"\n")
    assert done(run, tmp_path).rejected == 2
    found = [json.loads(line) for line in merged(tmp_path / "out")]
    assert [one and one["input"] for one in found] == ["ab", None, "ca", None, "de", "fa"]
    rejected = (tmp_path / "out" / "rejected" / "part-00000-00000.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in rejected]
    assert [(one["row"], one["line"]) for one in told] == [(2, 2), (4, 4)]
    assert told[0]["file"].endswith("a.txt") and told[0]["reason"] == "the line is empty."
    assert "is not UTF-8" in told[1]["reason"]
    assert done(run, tmp_path, "tsv", format="tsv").rows == 6
    cells = [line.split("\t") for line in merged(tmp_path / "tsv", "tsv")]
    assert cells[1] == ["\\N", "\\N"] and cells[0] == [found[0]["text"], repr(found[0]["score"])]


def test_parquet_holds_the_same(run: str, tmp_path: Path, inputs: list[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.table({"source": [*inputs[:5], None]}), tmp_path / "rows.parquet")
    files = [str(tmp_path / "rows.parquet")]
    done(run, tmp_path, files=files)
    done(
        run,
        tmp_path,
        "table",
        files=files,
        format="parquet",
        n_best=2,
        overrides=["search.beam=2"],
        trace=True,
    )
    lines = [json.loads(line) for line in merged(tmp_path / "out")]
    parts = sorted((tmp_path / "table").glob("part-*.parquet"))
    table = [row for part in parts for row in parquet.read_table(part).to_pylist()]
    assert len(table) == 6 and [row["input"] for row in table] == [*inputs[:5], None]
    assert table[5]["text"] is None and "source" in table[5]["rejected"] and lines[5] is None
    assert len(table[0]["alternatives"]) == 2 and json.loads(table[0]["trace"])
    assert table[0]["alternatives"][0]["text"] == table[0]["text"]


class Stopped(Exception):
    pass


def stopping(after: int) -> Callable[..., object]:
    """An engine of a stranger, which fails after some parts."""

    def engine(job: ShardJob, left: Sequence[FileWork], workers: int) -> object:
        for count, event in enumerate(one for one in plain(job, left, 1)):
            if count == after:
                raise Stopped
            yield event

    return engine


def test_what_is_finished_is_not_computed_again(run: str, tmp_path: Path, inputs: list[str]) -> None:
    done(run, tmp_path, "whole")
    with pytest.raises(Stopped):
        done(run, tmp_path, engine=stopping(5))
    kept = {part.name: part.stat().st_mtime_ns for part in (tmp_path / "out").glob("part-*")}
    assert 0 < len(kept) < 7
    computed = []

    def watching(job: ShardJob, left: Sequence[FileWork], workers: int) -> object:
        for event in plain(job, left, 1):
            computed.extend([event.number] if isinstance(event, PartAnswers) else [])
            yield event

    summary = done(run, tmp_path, engine=watching)
    assert len(computed) == 7 - len(kept) and summary.rows == 25 and 0 < summary.before < 25
    assert merged(tmp_path / "out") == merged(tmp_path / "whole")
    assert all((tmp_path / "out" / name).stat().st_mtime_ns == then for name, then in kept.items())
    damaged = tmp_path / "out" / "part-00000-00001.jsonl"
    damaged.write_text(damaged.read_text().replace("input", "inputs", 1))
    computed.clear()
    done(run, tmp_path, engine=watching)
    assert computed == [1] and merged(tmp_path / "out") == merged(tmp_path / "whole")
    computed.clear()
    assert done(run, tmp_path, engine=watching).before == 25 and computed == []


@pytest.mark.thorough
def test_two_workers_of_ray_answer_and_fail_as_one_process(
    run: str, tmp_path: Path, inputs: list[str]
) -> None:
    pytest.importorskip("ray", reason="needs pip install 'regard[ray]'")
    done(run, tmp_path, "plain")
    done(run, tmp_path, "ray", engine="ray", workers=2)
    assert merged(tmp_path / "ray") == merged(tmp_path / "plain")
    (tmp_path / "bad.parquet").write_text("no table")
    told = []
    for engine in ("plain", "ray"):
        with pytest.raises(RegardError) as raised:
            done(run, tmp_path, f"bad-{engine}", files=[str(tmp_path / "bad.parquet")], engine=engine)
        told.append(str(raised.value))
    assert told[0] == told[1] and "not a readable Parquet file" in told[0] and "\n" not in told[0]


def test_another_job_is_refused(run: str, tmp_path: Path, inputs: list[str]) -> None:
    done(run, tmp_path)
    for options, told in (
        ({"format": "tsv"}, "format was jsonl, and is tsv now"),
        ({"n_best": 2, "overrides": ["search.beam=2"]}, "of another job"),
        ({"files": [str(tmp_path / "in" / "a.txt")]}, "its input files have other names or sizes"),
    ):
        with pytest.raises(RegardError, match=told):
            done(run, tmp_path, **options)  # type: ignore[arg-type]
    other = tmp_path / "other"
    build(spec(search={"max_length": 8}), seed=3).save(other)
    with pytest.raises(RegardError, match="its model has other weights"):
        done(str(other), tmp_path)
    text = tmp_path / "in" / "a.txt"
    text.write_text(text.read_text()[::-1].strip() + "\n")  # the same size
    (tmp_path / "out" / "part-00000-00000.jsonl").unlink()
    with pytest.raises(RegardError, match="has changed since a part of it was answered"):
        done(run, tmp_path)
    with pytest.raises(RegardError, match="no output 'sound'"):
        done(run, tmp_path, "typo", output="sound")
    assert done(run, tmp_path, "typo", output="target").rows == 25, (
        "nothing was finished, so nothing is mixed"
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(RegardError, match="there are other files here"):
        done(run, tmp_path, "mine")


def test_a_batch_of_a_pipeline_of_ones_own(run: str, inputs: list[str]) -> None:
    predictor = BatchPredictor(run, device="cpu")
    batch = {"id": np.arange(3), "source": np.array([inputs[0], None, inputs[1]], dtype=object)}
    found = predictor(batch)
    truth = load(run, device="cpu").predict([inputs[0], inputs[1]], trace=False)
    assert list(found) == ["id", "source", "text", "score", "rejected"]
    assert list(found["text"]) == [truth[0].text, None, truth[1].text]
    assert found["score"][0] == pytest.approx(truth[0].score, rel=1e-5) and np.isnan(found["score"][1])
    assert list(found["rejected"]) == [None, "source is missing.", None]
    assert list(predictor({"anything": [inputs[0]]})["text"]) == [truth[0].text]
    named = BatchPredictor(run, columns={"source": "word"}, trace=True, device="cpu")
    assert json.loads(named({"word": [inputs[0]], "id": [1]})["trace"][0])
    with pytest.raises(RegardError, match="but no word"):
        named({"source": ["ab"]})


def test_the_command(run: str, tmp_path: Path, inputs: list[str], regard: Run) -> None:
    pattern, out = str(tmp_path / "in" / "*"), f"{tmp_path}/out/"
    code, printed, said = regard(
        "predict", run, "-f", pattern, "-o", out, "--shard", "2/2", "--device", "cpu"
    )
    assert (code, printed) == (0, "") and said.startswith(f"{tmp_path}/out: 7 rows; ")
    code, _, said = regard("predict", run, "-f", pattern, "-o", out, "--device", "cpu")
    assert code == 0 and "25 rows" in said and "answered before" in said
    expected = regard("predict", run, "-f", str(tmp_path / "in" / "a.txt"), "--json", "-", "--device", "cpu")[
        1
    ]
    assert merged(tmp_path / "out")[:10] == expected.splitlines()
    for arguments, told in (
        (["-f", pattern], "Name a folder: -o out/"),
        (["-f", pattern, "-o", out, "--watch"], "--watch does not go together with a folder of parts"),
        (["-f", pattern, "-o", out, "--shard", "9/8"], "expected NUMBER/COUNT"),
        (["-f", pattern, "-o", out, "--workers", "2"], "Choose the engine ray"),
        (["-f", pattern, "-o", out, "--engine", "other"], "is not one of plain, ray"),
        (["-f", f"{tmp_path}/none*", "-o", out], "no file matches"),
        (["-f", pattern, "-o", out, "--format", "tsv", "--trace"], "a table holds no attention"),
        (["-o", out], "Name them: -f FILE"),
    ):
        code, _, said = regard("predict", run, *arguments, "--device", "cpu")
        assert code == 2 and told in " ".join(said.split()), (arguments, said)


def test_a_folder_of_images(tmp_path: Path) -> None:
    from PIL import Image

    from regard.data import Row

    (tmp_path / "pictures" / "red").mkdir(parents=True)
    for number in range(3):
        Image.new("RGB", (16, 16), (80 * number, 0, 0)).save(tmp_path / "pictures" / "red" / f"{number}.png")
    (tmp_path / "pictures" / "red" / "3.png").write_text("no image")
    described = spec(
        inputs={"image": {"type": "image", "size": 16}},
        outputs={"label": {"type": "label"}},
        encoder={"type": "image", "network": {"type": "resnet", "channels": [2, 2, 2], "stride": 8}},
        attention=None,
        decoder={"type": "label"},
    )
    some = [Row({"image": str(tmp_path / "pictures" / "red" / "0.png"), "label": one}) for one in ("a", "b")]
    build(described, some).save(tmp_path / "run")
    summary = done(str(tmp_path / "run"), tmp_path, files=[str(tmp_path / "pictures")])
    assert (summary.rows, summary.rejected) == (4, 1)
    found = [json.loads(line) for line in merged(tmp_path / "out")]
    assert [one and one["input"] for one in found] == ["red/0.png", "red/1.png", "red/2.png", None]


def test_shards_may_begin_at_once_in_one_folder(run: str, tmp_path: Path, inputs: list[str]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    done(run, tmp_path, "whole")
    with ThreadPoolExecutor(4) as pool:
        some = list(pool.map(lambda number: done(run, tmp_path, shard=f"{number}/4"), range(1, 5)))
    assert sum(one.rows for one in some) == 25
    assert merged(tmp_path / "out") == merged(tmp_path / "whole")
