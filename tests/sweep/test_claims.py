"""Claims: one owner at a time, taken over when it is dead."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text

from regard.sweep.claims import Claims, here, started


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = create_engine(f"sqlite:///{tmp_path / 'claims.db'}")
    yield made
    made.dispose()


def written(engine: Engine, owner: str, beat: int = 0) -> None:
    with engine.begin() as connection:
        connection.execute(text("delete from regard_claims"))
        connection.execute(
            text("insert into regard_claims values ('s', 7, :owner, :beat)"), {"owner": owner, "beat": beat}
        )


def test_a_trial_has_one_owner(engine: Engine) -> None:
    first, second = Claims(engine, "s"), Claims(engine, "s")
    assert first.take(7)
    assert not second.take(7)
    assert second.take(8)
    assert Claims(engine, "other").take(7)
    first.release(7)
    assert second.take(7)
    assert not first.holds(7)
    second.close()
    assert first.take(7) and first.take(8)
    first.close()


def test_a_dead_process_of_this_machine_is_followed_at_once(engine: Engine) -> None:
    claims = Claims(engine, "s")
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = f"{here()}|{process.pid}|{started(process.pid)}|x"
    written(engine, owner)
    assert not claims.take(7)
    process.kill()
    process.wait()
    assert claims.take(7)
    written(engine, f"{here()}|{os.getpid()}|1|x")  # a later process has its number
    assert claims.take(7) or not started(os.getpid())
    claims.close()


def test_a_silent_machine_is_followed_after_a_while(engine: Engine) -> None:
    claims = Claims(engine, "s", silence=0.2)
    written(engine, "elsewhere|1||x")
    assert not claims.take(7)
    time.sleep(0.25)
    written(engine, "elsewhere|1||x", beat=1)  # it lives
    assert not claims.take(7)
    time.sleep(0.25)
    assert claims.take(7)
    claims.close()


def test_an_owner_beats(engine: Engine) -> None:
    claims = Claims(engine, "s", beat=0.02)
    claims.take(7)
    time.sleep(0.2)
    with engine.begin() as connection:
        assert connection.execute(text("select beat from regard_claims")).scalar_one() >= 2
    claims.close()
