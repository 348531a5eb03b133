"""The engine on Ray Data: tasks read the files, actors with the model answer, and this process writes.

A part travels as one row of a Ray data set. If an actor dies, Ray starts another and repeats its part; only whole
answers come back, so none is lost and none comes twice.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from regard.errors import MissingExtra, Option, RegardError
from regard.shards.job import Event, FileWork, PartRows, ShardJob

STORE = 256 << 20
"""Bytes of the object store of a local cluster."""
ACTOR_CPUS, READER_CPUS = 0.9, 0.05
"""Shares of a CPU by which Ray places processes: as many actors as CPUs leave room for reading, which takes little."""
BLOCK = 1
"""Bytes from which Ray passes on what a task has made: each part at once."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_worker_niceness": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def on_ray(job: ShardJob, left: Sequence[FileWork], workers: int) -> Iterator[Event]:
    """The engine on a Ray cluster: that of RAY_ADDRESS, else one on this machine while the job runs."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtra("ray", "ray", "the engine ray") from None
    with _cluster(ray, workers), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"ray\.")
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        context.target_max_block_size = BLOCK
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # we report a failure ourselves
        cpus = float(ray.cluster_resources().get("CPU", 0))
        if workers > cpus:
            raise RegardError(
                f"the cluster has {cpus:g} CPUs; received {workers} workers.",
                where=Option("workers"),
                fix="Ask for fewer, or for a larger cluster.",
            )
        gpus = float(ray.cluster_resources().get("GPU", 0)) if job.device != "cpu" else 0.0
        items = [{"work": pickle.dumps(work)} for work in left]
        known = ray.put(job)
        data: Any = ray.data
        parts = data.from_items(items, override_num_blocks=len(items)).map_batches(
            _read, fn_args=[known], batch_size=1, num_cpus=READER_CPUS, concurrency=max(1, workers // 4)
        )
        answers = parts.map_batches(
            _Worker,
            fn_constructor_args=[pickle.dumps(job)],
            batch_size=1,
            concurrency=workers,
            num_cpus=0 if gpus else ACTOR_CPUS,
            num_gpus=min(1.0, gpus / workers) or None,
        )
        try:
            for row in answers.iter_rows():
                event: Event = pickle.loads(row["event"])
                yield event
        except ray.exceptions.RayError as error:
            raise _of_worker(error, ray.exceptions.RayError) from None


def _read(batch: dict[str, Any], known: Any) -> Iterator[dict[str, Any]]:
    """A task: the parts of a file."""
    import ray

    job: ShardJob = ray.get(known) if isinstance(known, ray.ObjectRef) else known
    for work in batch["work"]:
        for event in job.read(pickle.loads(work)):
            yield {"event": [pickle.dumps(event)]}


class _Worker:
    """An actor: a model that answers parts."""

    def __init__(self, job: bytes) -> None:
        import torch

        self.job: ShardJob = pickle.loads(job)
        torch.set_num_threads(self.job.threads or 1)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        events = [pickle.loads(one) for one in batch["event"]]
        made = [self.job.answer(one) if isinstance(one, PartRows) else one for one in events]
        return {"event": [pickle.dumps(one) for one in made]}


@contextmanager
def _cluster(ray: Any, workers: int) -> Iterator[None]:
    """The cluster that is there, or one on this machine, which ends with the job."""
    if ray.is_initialized():
        yield
        return
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    local = {
        "address": "local",
        "num_cpus": workers,
        "include_dashboard": False,
        "object_store_memory": STORE,
    }
    # The path of a socket has at most 107 characters, so that Ray's folder stands in that of temporary files.
    with TemporaryDirectory(prefix="regard-ray-", ignore_cleanup_errors=True) as folder:
        if os.environ.get("RAY_ADDRESS"):
            ray.init(address="auto", **quiet)
        else:
            with _silence():
                ray.init(**local, _temp_dir=folder, **quiet)
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _silence() -> Iterator[None]:
    """Drop what Ray's own code in C++ prints while it starts."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def _of_worker(error: BaseException, wrapper: type[BaseException]) -> RegardError:
    """The error of a worker: ours as it is, any other in one line.

    Ray's wrapper of an error is also of the error's class, and its text is the whole traceback.
    """
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, RegardError) and not isinstance(found, wrapper):
            return found
        found = getattr(found, "cause", None) or found.__cause__
    line = (str(error).strip().splitlines() or [type(error).__name__])[-1]
    return RegardError(
        f"a worker failed: {line}",
        where=Option("engine"),
        fix="The same without the engine ray shows where.",
    )
