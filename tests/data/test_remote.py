"""Remote files: fetched once, anew when they change, from the cache when the network is gone."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from regard.data import read_rows
from regard.data.remote import cached_copy, matching, url_of
from regard.data.remote import copies as remote_copies
from regard.errors import RegardError
from regard.model import load

PAIRS = "source\ttarget\n" + "".join(f"{a}{b}\t{a} {b}\n" for a in "abcd" for b in "abcd")


class Server:
    """A server of files on 127.0.0.1, which counts the requests."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.short = False
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.answer(body=False)

            def do_GET(self) -> None:
                self.answer(body=True)

            def answer(self, *, body: bool) -> None:
                outer.asked.append(f"{self.command} {self.path}")
                content = outer.files.get(self.path.partition("?")[0])
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("ETag", hashlib.md5(content).hexdigest())
                self.end_headers()
                if body:
                    self.wfile.write(content[: len(content) // 2] if outer.short else content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/{name}"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    made.files["/pairs.tsv"] = PAIRS.encode()
    yield made
    made.stop()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the next question ask the server again, as after a while."""
    now = [0.0]
    monkeypatch.setattr(remote_copies.time, "monotonic", lambda: now[0])

    def wait() -> None:
        now[0] += 3600.0

    return wait


def gets(server: Server) -> int:
    return sum(one.startswith("GET") for one in server.asked)


def test_a_file_is_fetched_once_and_read_as_a_local_one(server: Server, later: Callable[[], None]) -> None:
    url = server.url("pairs.tsv")
    rows = read_rows(url, fields=["source", "target"])
    assert [row["target"] for row in rows][:2] == ["a a", "a b"]
    assert next(row.where for row in rows) == f"{url}:2"
    later()
    assert cached_copy(Path(url)).read_text() == PAIRS, "a Path has one slash of the two"
    assert gets(server) == 1
    assert cached_copy(url).parent.name == hashlib.blake2b(PAIRS.encode(), digest_size=16).hexdigest()


def test_a_changed_file_is_fetched_anew(server: Server, later: Callable[[], None]) -> None:
    first = cached_copy(server.url("pairs.tsv"))
    server.files["/pairs.tsv"] = PAIRS.replace("a b", "b a").encode()  # the same size
    later()
    second = cached_copy(server.url("pairs.tsv"))
    assert second.read_bytes() == server.files["/pairs.tsv"] and first.read_text() == PAIRS


def test_without_a_network_the_copy_serves(
    server: Server, later: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    url = server.url("pairs.tsv")
    cached_copy(url)
    later()
    server.stop()
    server.stop = lambda: None  # type: ignore[method-assign]
    assert cached_copy(url).read_text() == PAIRS
    said = capsys.readouterr().err
    assert said.startswith(f"{url} cannot be reached (") and said.count("\n") == 1 and "the copy of" in said
    with pytest.raises(RegardError, match="the cache holds no copy of it") as error:
        cached_copy(server.url("other.tsv"))
    assert str(error.value).startswith(server.url("other.tsv")) and "Connection refused" in str(error.value)


def test_a_file_that_is_gone_is_an_error_although_there_is_a_copy(
    server: Server, later: Callable[[], None]
) -> None:
    cached_copy(server.url("pairs.tsv"))
    server.files.clear()
    later()
    with pytest.raises(RegardError, match="there is no such file"):
        cached_copy(server.url("pairs.tsv"))


def test_half_a_file_is_never_seen(server: Server, tmp_path: Path, later: Callable[[], None]) -> None:
    server.short = True
    with pytest.raises(RegardError, match="cannot be fetched"):
        cached_copy(server.url("pairs.tsv"))
    found = [path for path in Path(os.environ["REGARD_CACHE"]).rglob("*") if path.is_file()]
    assert all(path.suffix == ".lock" for path in found), found
    server.short = False
    assert cached_copy(server.url("pairs.tsv")).read_text() == PAIRS


def test_threads_and_processes_fetch_once(server: Server, later: Callable[[], None]) -> None:
    url = server.url("pairs.tsv")
    code = f"from regard.data.remote import cached_copy; print(cached_copy({url!r}))"
    others = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    with ThreadPoolExecutor(4) as pool:
        mine = set(pool.map(lambda _: str(cached_copy(url)), range(8)))
    theirs = {other.communicate()[0].strip() for other in others}
    assert mine == theirs and len(mine) == 1 and gets(server) == 1


@pytest.mark.parametrize(
    "url",
    ["https://me:hunter22@host/a.tsv", "https://host/a.tsv?X-Amz-Signature=hunter22", "s3:/k:hunter22@b/a"],
)
def test_a_url_with_a_secret_is_refused_without_telling_it(url: str) -> None:
    with pytest.raises(RegardError, match="the record of a run would keep") as error:
        read_rows(url, fields=["source"])
    assert "hunter22" not in str(error.value)
    assert url_of("s3:/bucket/a?versionId=3") == "s3://bucket/a?versionId=3"


def test_parallel_files_and_a_bad_row_are_named_by_their_urls(server: Server) -> None:
    server.files |= {
        "/a.en": b"one\ntwo\n",
        "/a.de": b"eins\nzwei\n",
        "/bad.tsv": PAIRS.encode() + b"alone\n",
    }
    both = read_rows(f"{server.url('a.en')}+{server.url('a.de')}", fields=["source", "target"])
    assert [tuple(row.values()) for row in both] == [("one", "eins"), ("two", "zwei")]
    with pytest.raises(RegardError) as error:
        list(read_rows(server.url("bad.tsv"), fields=["source", "target"]))
    assert str(error.value).startswith(f"{server.url('bad.tsv')}:18: the row has 1 tab-separated cell")


def test_other_schemes_come_from_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://folder/pairs.tsv", "w") as file:
        file.write(PAIRS)
    assert len(list(read_rows("memory://folder/pairs.tsv", fields=["source", "target"]))) == 16
    assert matching("memory://folder/*.tsv") == {"memory://folder/pairs.tsv": len(PAIRS)}
    with pytest.raises(RegardError, match="files of nowhere:// cannot be opened"):
        read_rows("nowhere://a/b.tsv", fields=["source"])


def test_a_run_trains_evaluates_and_predicts_from_urls(
    server: Server, regard: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    url, run = server.url("pairs.tsv"), str(tmp_path / "run")
    server.files["/words.txt"] = b"ab\nba\n"
    trained = regard("train", url, "-o", run, "--set", "training.steps=2", "--no-report")
    assert trained[0] == 0, trained[2]
    data = json.loads((tmp_path / "run" / "metrics.json").read_text())["data"]
    assert list(data["train"]) == [url] and len(data["train"][url]) == 32
    assert list(load(run).spec.data.train) == [url]
    assert regard("evaluate", run, "--data", url)[0] == 0
    code, answers, _ = regard("predict", run, "-f", server.url("words.txt"))
    assert code == 0 and len(answers.splitlines()) == 2
    shown = regard("show", run, "--row", "0")
    assert shown[0] == 0, shown[2]
    assert gets(server) == 2
