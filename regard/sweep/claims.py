"""Which process works on which trial: claims in the database of the study.

A claim is a row with its owner and a counter that the owner raises every few seconds. A claim is taken over by
comparing and setting both, so that one process alone succeeds. An owner is dead if its process is gone from this
machine, or if its counter has not moved for a while: seen by the clock of whoever waits, so that the clocks of the
machines need not agree.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError

if TYPE_CHECKING:
    from sqlalchemy import Engine, Table

BEAT = 5.0
"""Seconds between two beats of an owner."""
SILENCE = 45.0
"""Seconds without a beat after which an owner on another machine counts as dead."""
BOOKS, TEST = -1, -2
"""Claims that are no trials: the right to change the list of trials, and the right to look at test."""
PAUSE = 0.02
"""Seconds between two attempts to get the right to change the list."""
FREE = ""


def here() -> str:
    """This machine, as processes see each other: its name, and the space of its process numbers."""
    space = ""
    with suppress(OSError):  # only Linux has it
        space = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()} {space}".strip()


def started(pid: int) -> str:
    """When a process started, to tell it from a later one of the same number; empty where this is not known."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


class Claims:
    """The claims of one study, by one process."""

    def __init__(self, engine: Engine, study: str, *, silence: float = SILENCE, beat: float = BEAT) -> None:
        self.engine, self.study, self.silence, self.beat = engine, study, silence, beat
        pid = os.getpid()
        self.owner = "|".join((here(), str(pid), started(pid), secrets.token_hex(4)))
        self.table = _table(engine)
        self._seen: dict[int, tuple[str, int, float]] = {}
        self._held: set[int] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, number: int) -> bool:
        """Claim this trial: free, never claimed, or of a dead owner. False if a living process has it."""
        from sqlalchemy import select, update
        from sqlalchemy.exc import IntegrityError

        table = self.table
        with self.engine.begin() as connection:
            found = connection.execute(
                select(table.c.owner, table.c.beat).where(*self._row(number))
            ).one_or_none()
        if found is None:
            try:
                with self.engine.begin() as connection:
                    connection.execute(
                        table.insert().values(study=self.study, number=number, owner=self.owner, beat=0)
                    )
            except IntegrityError:  # another process was quicker
                return False
            self._hold(number)
            return True
        owner, beat = found
        if owner == self.owner:
            self._hold(number)
            return True
        if owner != FREE and not self._dead(number, owner, beat):
            return False
        with self.engine.begin() as connection:
            changed = connection.execute(
                update(table)
                .where(*self._row(number), table.c.owner == owner, table.c.beat == beat)
                .values(owner=self.owner, beat=beat + 1)
            ).rowcount
        if changed:
            self._hold(number)
        return bool(changed)

    def release(self, number: int) -> None:
        """Free a claim of ours."""
        from sqlalchemy import update

        self._held.discard(number)
        with self.engine.begin() as connection:
            connection.execute(
                update(self.table)
                .where(*self._row(number), self.table.c.owner == self.owner)
                .values(owner=FREE)
            )

    def holds(self, number: int) -> bool:
        """Whether the claim is still ours; raises its counter."""
        from sqlalchemy import update

        with self.engine.begin() as connection:
            return bool(
                connection.execute(
                    update(self.table)
                    .where(*self._row(number), self.table.c.owner == self.owner)
                    .values(beat=self.table.c.beat + 1)
                ).rowcount
            )

    @contextmanager
    def books(self, patience: float = 600.0) -> Iterator[None]:
        """The right to change the list of trials, which one process has at a time."""
        end = time.monotonic() + patience
        while not self.take(BOOKS):
            if time.monotonic() > end:
                raise RegardError(
                    f"another process has kept the list of trials for {patience:.0f} s.",
                    where=self.study,
                    fix="Stop it, and run the command again.",
                )
            time.sleep(PAUSE)
        try:
            yield
        finally:
            self.release(BOOKS)

    def close(self) -> None:
        """Free all claims, and stop the beats."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for number in list(self._held):
            self.release(number)

    def _row(self, number: int) -> tuple[Any, ...]:
        return self.table.c.study == self.study, self.table.c.number == number

    def _hold(self, number: int) -> None:
        self._held.add(number)
        if self._thread is None:
            self._thread = threading.Thread(target=self._beats, name="regard-sweep-beats", daemon=True)
            self._thread.start()

    def _beats(self) -> None:
        from sqlalchemy.exc import SQLAlchemyError

        while not self._stop.wait(self.beat):
            for number in list(self._held):
                with suppress(SQLAlchemyError):  # the next beat may get through; others wait for several
                    if not self.holds(number):
                        self._held.discard(number)

    def _dead(self, number: int, owner: str, beat: int) -> bool:
        machine, pid, start, *_ = (*owner.split("|"), "", "", "")
        if (
            machine == here() and pid.isdigit() and os.name != "nt"
        ):  # there, asking for a process would end it
            return not _runs(int(pid), start)
        before = self._seen.get(number)
        if before is None or before[:2] != (owner, beat):
            self._seen[number] = (owner, beat, time.monotonic())
            return False
        return time.monotonic() - before[2] > self.silence


def _runs(pid: int, start: str) -> bool:
    """Whether this process, and no later one of its number, runs here."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        pass
    if os.path.exists("/proc/self/stat"):
        state = ""
        with suppress(OSError, IndexError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in ("", "Z", "X") and (not start or started(pid) == start)
    return True


def _table(engine: Engine) -> Table:
    """The table of claims, made if it is missing."""
    from sqlalchemy import Column, Integer, MetaData, String, Table
    from sqlalchemy.exc import SQLAlchemyError

    table = Table(
        "regard_claims",
        MetaData(),
        Column("study", String(200), primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("owner", String(300), nullable=False),
        Column("beat", Integer, nullable=False),
    )
    with suppress(SQLAlchemyError):  # another process makes it at the same time
        table.create(engine, checkfirst=True)
    table.create(engine, checkfirst=True)
    return table
