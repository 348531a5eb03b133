"""The engine on Ray, with a cluster and an S3-compatible store on this machine that begin and end with this file."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.errors import RegardError
from regard.shards import BatchPredictor, predict_files
from tests.model.small import build, spec, words

ray = pytest.importorskip("ray", reason="ray is not installed")
ROWS = 240


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Parquet files of words in a bucket; gives their pattern."""
    moto = pytest.importorskip("moto.server", reason="moto is not installed")
    boto3, pyarrow = pytest.importorskip("boto3"), pytest.importorskip("pyarrow")
    from pyarrow import parquet

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server._server.server_port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "not-to-be-told",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    client, folder, some = boto3.client("s3"), tmp_path_factory.mktemp("bucket"), [*words(ROWS - 1), None]
    client.create_bucket(Bucket="words")
    for number in range(2):
        path = folder / f"{number}.parquet"
        parquet.write_table(pyarrow.table({"source": some[number * ROWS // 2 :][: ROWS // 2]}), path)
        client.upload_file(str(path), "words", path.name)
    yield "s3://words/*.parquet"
    server.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


@pytest.fixture(scope="module")
def cluster(store: str) -> Iterator[None]:
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False,
        logging_level="ERROR", _node_ip_address="127.0.0.1", _temp_dir=folder,
    )  # fmt: skip
    yield
    ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("ray") / "run"
    build(spec(search={"max_length": 8, "method": "greedy"})).save(folder)
    return str(folder)


def content(out: Path) -> dict[str, bytes]:
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.parent.name != "manifest"
    }


def workers() -> list[int]:
    """The processes of this cluster that answer."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes().startswith(b"ray::MapWorker") and _is_ours(int(entry.name)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def _is_ours(pid: int) -> bool:
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if pid == os.getpid():
            return True
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the workers are found in /proc")
def test_from_a_store_with_a_worker_killed_nothing_is_lost_and_nothing_twice(
    run: str, store: str, cluster: None, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"part_rows": 8, "device": "cpu"}
    truth = predict_files(run, [store], tmp_path / "plain", **options)
    assert (truth.rows, truth.rejected) == (ROWS, 1)
    killed: list[int] = []

    def kill(rows: int) -> None:
        if not killed:
            killed.append(workers()[0])
            os.kill(killed[0], signal.SIGKILL)

    found = predict_files(
        run, [store], tmp_path / "ray", engine="ray", workers=2, threads=1, progress=kill, **options
    )
    assert killed and (found.rows, found.rejected, found.before) == (ROWS, 1, 0)
    assert content(tmp_path / "ray") == content(tmp_path / "plain")
    with pytest.raises(RegardError, match="the cluster has 2 CPUs; received 9 workers"):
        predict_files(run, [store], tmp_path / "more", engine="ray", workers=9, **options)
    again = predict_files(run, [store], tmp_path / "ray", engine="ray", workers=2, **options)
    assert again.before == ROWS


def test_an_error_of_a_worker_is_told_in_one_line(
    run: str, cluster: None, tmp_path: Path, regard: Callable[..., tuple[int, str, str]]
) -> None:
    (tmp_path / "bad.parquet").write_text("no table")
    arguments = [
        "-f",
        str(tmp_path / "bad.parquet"),
        "-o",
        f"{tmp_path}/out/",
        "--engine",
        "ray",
        "--device",
        "cpu",
    ]
    code, _, said = regard("predict", run, *arguments)
    plainly = regard("predict", run, *arguments[:4], "--device", "cpu")
    assert code == plainly[0] == 2 and "Traceback" not in said
    assert " ".join(said.split()) == " ".join(plainly[2].split())


def test_the_predictor_in_a_pipeline_of_ones_own(run: str, cluster: None) -> None:
    import ray.data

    some = words(40)
    rows = ray.data.from_items([{"source": word, "place": place} for place, word in enumerate(some)])
    answered = rows.map_batches(
        BatchPredictor, fn_constructor_args=[run], fn_constructor_kwargs={"device": "cpu"}, concurrency=1
    )
    found = sorted(answered.take_all(), key=lambda row: row["place"])
    truth = BatchPredictor(run, device="cpu")({"source": some})
    assert [row["text"] for row in found] == list(truth["text"])
    assert [row["score"] for row in found] == pytest.approx(list(truth["score"]), rel=1e-5)


def test_without_ray_one_line_names_the_extra(
    run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    (tmp_path / "a.txt").write_text("ab\n")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RegardError, match=r"pip install 'regard\[ray\]'"):
        predict_files(run, [str(tmp_path / "a.txt")], tmp_path / "out", engine="ray")
