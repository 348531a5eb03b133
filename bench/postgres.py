"""A PostgreSQL of a script's own: in a temporary folder, on a free port of 127.0.0.1, by an unprivileged user."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
UNPRIVILEGED = ("postgres", "nobody")


def missing() -> str:
    """Why there can be no server here; empty if there can."""
    if _program("initdb") is None:
        return "PostgreSQL is not installed (Debian: apt install postgresql)"
    if os.getuid() == 0 and (_user() is None or shutil.which("setpriv") is None):
        return "PostgreSQL refuses root, and there is no other user or no setpriv"
    return ""


def _program(name: str) -> str | None:
    beside = [str(place / name) for place in PLACES if (place / name).is_file()]
    return shutil.which(name) or next(iter(beside), None)


def _user() -> tuple[int, int] | None:
    import pwd

    for name in UNPRIVILEGED:
        try:
            found = pwd.getpwnam(name)
            return found.pw_uid, found.pw_gid
        except KeyError:
            continue
    return None


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database; the server and its folder are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="regard-postgres-") as place:
        folder = Path(place)
        as_user: list[str] = []
        if os.getuid() == 0:
            user = _user()
            assert user is not None
            os.chown(folder, *user)
            as_user = ["setpriv", f"--reuid={user[0]}", f"--regid={user[1]}", "--clear-groups"]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]

        def call(*words: str) -> None:
            subprocess.run([*as_user, *words], check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=120)

        data = str(folder / "data")
        call(str(_program("initdb")), "-D", data, "-U", "regard", "-A", "trust", "--no-sync", "-E", "UTF8")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        control = str(_program("pg_ctl"))
        call(control, "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg://regard@127.0.0.1:{port}/postgres"
        finally:
            call(control, "-D", data, "-m", "immediate", "-w", "stop")
