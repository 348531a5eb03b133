"""The output of a job: a file for each part, the rejected rows, and a manifest by which it is resumed.

part-00000-00003.jsonl            the answers to part 3 of file 0; `cat part-*` is the order of the input
rejected/part-00000-00003.jsonl   its rejected rows, if there are any: file, row, line, reason
manifest/job.json                 what determines the answers; another job is refused
manifest/file-00000.json          the digest of the input, and how many rows it has once it was read to its end
manifest/part-00000-00003.json    sizes and digests of the files of a part: written last, it says that it is finished
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.errors import Message, Option, RegardError
from regard.shards.job import FileEnd, FileStart, FileWork, PartAnswers, ShardJob
from regard.storage.files import naming, read_json, write_bytes, write_text
from regard.version import __version__

MANIFEST, REJECTED, JOB = "manifest", "rejected", "job.json"


class OutputFolder:
    """The folder of a job's output; several processes may share it."""

    def __init__(self, path: Path, job: ShardJob) -> None:
        self.path, self.job, self.manifest = path, job, path / MANIFEST
        self.identity = _identity(job)

    def claim(self) -> None:
        """Make the folder, or check that it is of the same job. A job without a finished part may be replaced."""
        known = self._record(JOB)
        if known is not None and known != self.identity and not any(self.manifest.glob("part-*-*.json")):
            for name in self.manifest.glob("file-*.json"):
                name.unlink(missing_ok=True)
            write_text(self.manifest / JOB, json.dumps(self.identity, ensure_ascii=False, indent=1) + "\n")
        elif known is None:
            if self.path.exists() and not self.path.is_dir():
                raise RegardError(
                    "this is a file, expected a folder.",
                    where=str(self.path),
                    fix=Message("Choose another name with ", Option("output"), "."),
                )
            if self.path.exists() and not self._is_free():
                raise RegardError(
                    "there are other files here, and no manifest of a prediction.",
                    where=str(self.path),
                    fix="Choose another folder with -o.",
                )
            with naming(self.manifest):
                self.manifest.mkdir(parents=True, exist_ok=True)
            write_text(self.manifest / JOB, json.dumps(self.identity, ensure_ascii=False, indent=1) + "\n")
        self._check()

    def _is_free(self) -> bool:
        """Whether the folder is empty; another shard may have made that of the manifest."""
        return self.path.is_dir() and all(entry.name == MANIFEST for entry in self.path.iterdir())

    def _check(self) -> None:
        """Refuse to mix answers of different jobs."""
        known = self._record(JOB) or {}
        for key, value in self.identity.items():
            if key != "regard" and known.get(key) != value:
                raise RegardError(
                    f"the folder holds answers of another job: {_difference(key, known.get(key), value)}.",
                    where=str(self.path),
                    fix="Choose another folder with -o, or give the same model, files and options.",
                )

    def left(self) -> Iterator[FileWork]:
        """What is left to do for this shard, file by file."""
        known = self._parts()
        for file in range(len(self.job.files)):
            if not self.job.shard.takes_file(file, len(self.job.files)):
                continue
            record = self._record(f"file-{file:05}.json") or {}
            finished = frozenset(part for part in known.get(file, ()) if self.is_finished(file, part))
            parts = record.get("parts")
            if parts is None or any(
                self.job.takes(file, part) and part not in finished for part in range(parts)
            ):
                yield FileWork(file, str(record.get("digest", "")), finished)

    def counts(self) -> tuple[int, int]:
        """The rows of this shard's finished parts, and the rejected ones among them."""
        rows = rejected = 0
        for file, parts in self._parts().items():
            for part in parts:
                record = self._record(f"{_name(file, part)}.json") or {}
                rows, rejected = rows + record.get("rows", 0), rejected + record.get("rejected", 0)
        return rows, rejected

    def _parts(self) -> dict[int, list[int]]:
        """{file: its parts that have a record and belong to this shard}"""
        found: dict[int, list[int]] = {}
        for path in self.manifest.glob("part-*-*.json"):
            _, file, part = path.stem.split("-")
            if self.job.takes(int(file), int(part)):
                found.setdefault(int(file), []).append(int(part))
        return found

    def is_finished(self, file: int, part: int) -> bool:
        """Whether a part is complete and undamaged."""
        record = self._record(f"{_name(file, part)}.json")
        return record is not None and all(
            _is_intact(self.path / name, *known) for name, known in record["files"].items()
        )

    def opened(self, event: FileStart) -> None:
        name = f"file-{event.file:05}.json"
        known = self._record(name)
        if known is None:
            self._write(name, {"name": self.job.files[event.file].name, "digest": event.digest})
        elif known.get("digest") != event.digest:
            raise RegardError(
                "this file is not the one of which the folder holds answers.",
                where=self.job.files[event.file].name,
                fix="Choose another folder with -o.",
            )

    def ended(self, event: FileEnd) -> None:
        name = f"file-{event.file:05}.json"
        self._write(name, {**(self._record(name) or {}), "rows": event.rows, "parts": event.parts})

    def write(self, answered: PartAnswers) -> None:
        """Write a part: its rejected rows, its answers, and at last its record."""
        self._check()
        name = _name(answered.file, answered.number)
        files = {f"{name}.{self.job.format}": answered.content}
        rejected = f"{REJECTED}/{name}.jsonl"
        if answered.rejected:
            files[rejected] = answered.rejected
        else:
            (self.path / rejected).unlink(missing_ok=True)
        for file, content in files.items():
            write_bytes(self.path / file, content)
        known = {file: [len(content), _digest(content)] for file, content in files.items()}
        bad = answered.rejected.count(b"\n")
        self._write(f"{name}.json", {"rows": answered.rows, "rejected": bad, "files": known})

    def _record(self, name: str) -> dict[str, Any] | None:
        try:
            found = read_json(self.manifest / name)
            return found if isinstance(found, dict) else None
        except (OSError, ValueError):
            return None

    def _write(self, name: str, content: dict[str, Any]) -> None:
        write_text(self.manifest / name, json.dumps(content, ensure_ascii=False) + "\n")


def _name(file: int, part: int) -> str:
    return f"part-{file:05}-{part:05}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_intact(path: Path, size: int, digest: str) -> bool:
    try:
        if path.stat().st_size != size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def _identity(job: ShardJob) -> dict[str, Any]:
    """What determines the answers of all shards: the models, the files, the options."""
    return {
        "regard": __version__,
        "models": [_model_digest(run) for run in (job.run, *job.ensemble)],
        "overrides": list(job.overrides),
        "output": job.output,
        "trace": job.trace,
        "n_best": job.n_best,
        "format": job.format,
        "part_rows": job.part_rows,
        "files": [list(one) for one in job.files],
    }


def _model_digest(run: str) -> str:
    from regard.model.saving import WEIGHTS, file_digests
    from regard.storage.hub import fetched

    folder = fetched(run)
    digests = file_digests(folder)
    with (folder / WEIGHTS).open("rb") as file:
        weights = hashlib.file_digest(file, "sha256").hexdigest()
    return hashlib.sha256(" ".join([weights, *sorted(digests.values())]).encode()).hexdigest()


def _difference(key: str, before: Any, now: Any) -> str:
    if key == "models":
        return "its model has other weights or another spec"
    if key == "files":
        return "its input files have other names or sizes"
    return f"{key.replace('_', ' ')} was {before}, and is {now} now"
