"""Attacks by the surroundings: variables, folders, limits, signals, time, and other processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.attacks.attack import Attack
from tests.attacks.commands import SHORT

TRAIN = f"regard train words.tsv -o x {SHORT}"
LONG = (  # with job control: without, a shell starts what runs beside it deaf to INT; not by the function `regard`,
    # which is a shell with a child: the shell alone would receive the signal
    f'set -m; "{sys.executable}" -m regard train words.tsv -o x --set training.steps=100000'
    " --set training.evaluate_every=5 --set training.epochs=null --set training.patience=null --set encoder.size=8"
)
STARTED = (
    "for i in $(seq 600); do test -e x/log.csv && test $(wc -l < x/log.csv) -gt 2 && break; sleep 0.1; done"
)


def file_for_cache(place: Path) -> None:
    (place / "cache").write_text("")


def odd_folders(place: Path) -> None:
    os.makedirs(bytes(place) + b"/caf\xe9")
    (place / "new\nline").mkdir()
    (place / "a b'c\"d$e").mkdir()


def resumes(place: Path, output: str) -> str | None:
    return (
        None
        if "resumed" in output or "2 steps" in output or "the model is in" in output
        else "did not resume"
    )


VARIABLES = [
    Attack("variables", name, TRAIN, "answered", environment=changes)
    for name, changes in {
        "no HOME": {"HOME": None, "REGARD_CACHE": None, "XDG_CACHE_HOME": None},
        "a HOME that does not exist": {"HOME": "/nowhere/at/all", "REGARD_CACHE": None},
        "no TMPDIR": {"TMPDIR": "/nowhere"},
        "LANG=C": {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        "output in ASCII": {"PYTHONIOENCODING": "ascii"},
        "OMP_NUM_THREADS=0": {"OMP_NUM_THREADS": "0"},
        "OMP_NUM_THREADS=many": {"OMP_NUM_THREADS": "many"},
        "no columns": {"COLUMNS": "0"},
        "one column": {"COLUMNS": "1"},
        "columns that are no number": {"COLUMNS": "wide"},
        "a dumb terminal": {"TERM": "dumb", "NO_COLOR": "1"},
        "no PATH": {"PATH": "/bin:/usr/bin"},
        "a kernel cache that cannot be written": {"NUMBA_CACHE_DIR": "/proc/nowhere"},
    }.items()
] + [
    Attack(
        "variables",
        "a cache that is a file",
        TRAIN,
        "either",
        prepare=file_for_cache,
        environment={"REGARD_CACHE": "cache"},
    ),
    Attack("variables", "settings that are none", TRAIN, "refused", environment={"REGARD_SET": "nonsense"}),
    Attack(
        "variables",
        "settings with a quote left open",
        TRAIN,
        "refused",
        environment={"REGARD_SET": "data.world='{"},
    ),
]
FOLDERS = [
    Attack(
        "folders",
        "a name not in UTF-8",
        f"regard train words.tsv -o $'caf\\xe9/run' {SHORT} && regard predict $'caf\\xe9/run' ban",
        "either",
        prepare=odd_folders,
    ),
    Attack(
        "folders",
        "a file not in UTF-8",
        f"cp words.tsv $'caf\\xe9/w.tsv'; regard train $'caf\\xe9/w.tsv' -o y {SHORT}",
        "either",
        prepare=odd_folders,
    ),
    Attack(
        "folders",
        "a name with a line break",
        f"regard train words.tsv -o $'new\\nline/run' {SHORT} && regard predict $'new\\nline/run' ban",
        "either",
        prepare=odd_folders,
    ),
    Attack(
        "folders",
        "a name with quotes",
        f'regard train words.tsv -o "a b\'c\\"d\\$e/run" {SHORT} && regard predict "a b\'c\\"d\\$e/run" ban',
        "answered",
        prepare=odd_folders,
    ),
    Attack(
        "folders",
        "a current folder that is gone",
        "mkdir gone; cd gone; rmdir ../gone; regard predict ../runs/words ban",
    ),
    Attack(
        "folders",
        "a run renamed while training",
        f"{LONG} & pid=$!; {STARTED}; mv x y; wait $pid",
        "refused",
    ),
    Attack(
        "folders",
        "a run deleted while training",
        f"{LONG} & pid=$!; {STARTED}; rm -r x; wait $pid",
        "refused",
    ),
    Attack(
        "folders",
        "data changed while training",
        f"{LONG} & pid=$!; {STARTED}; echo 'zzz\tZ' > words.tsv; sleep 1; kill -INT $pid; wait $pid; true",
    ),
    Attack(
        "folders",
        "predict while a training overwrites",
        f"{TRAIN} && ({TRAIN} --overwrite &) ; for i in 1 2 3; do regard predict x ban || exit 1; done",
        "answered",
    ),
]
LIMITS = [
    Attack("limits", "files of at most 8 kB", f"ulimit -f 8; {TRAIN}", "refused"),
    Attack("limits", "no files open", f"ulimit -n 12; {TRAIN}"),
    Attack("limits", "3 GB of address space", "ulimit -v 3000000; regard predict runs/words ban"),
    Attack("limits", "a full output", "regard predict runs/words ban > /dev/full", "refused"),
    Attack("limits", "a closed output", "regard predict runs/words ban >&-"),
    Attack("limits", "a closed input", "regard predict runs/words <&-"),
    Attack(
        "limits",
        "a reader that leaves",
        "yes ban | head -2000 | regard predict runs/words | head -1; true",
        "answered",
    ),
    Attack("limits", "closed errors", f"{TRAIN} 2>&-"),
]
SIGNALS = [
    Attack(
        "signals",
        f"{signal}, then resume",
        f"{LONG} & pid=$!; {STARTED}; kill -{signal} $pid; wait $pid; regard train --resume x --set training.steps=60",
        "either",
        seconds=240,
    )
    for signal in ("HUP", "INT", "TERM", "KILL", "QUIT")
] + [
    Attack(
        "signals",
        "STOP and CONT",
        f"{LONG} & pid=$!; {STARTED}; kill -STOP $pid; sleep 1; kill -CONT $pid; sleep 1; "
        "kill -INT $pid; wait $pid; test $? -lt 200",
        seconds=240,
    ),
    Attack(
        "signals",
        "a lock left by KILL",
        f"{LONG} & pid=$!; {STARTED}; kill -KILL $pid; wait $pid; {TRAIN} --overwrite",
        "answered",
        seconds=240,
    ),
    Attack(
        "signals",
        "two trainings in one folder",
        f"{LONG} & pid=$!; {STARTED}; {TRAIN} --overwrite; code=$?; kill -INT $pid; wait $pid; exit $code",
        "refused",
        seconds=240,
    ),
]
CLOCKS = [
    Attack(
        "clocks",
        "files from the future",
        f"{TRAIN} && find x words.tsv -exec touch -d 2099-01-01 {{}} + && regard predict x ban && regard evaluate x",
        "answered",
    ),
    Attack(
        "clocks",
        "files from 1970",
        f"{TRAIN} && find x words.tsv -exec touch -d @0 {{}} + && regard predict x ban && regard train --resume x",
        "either",
    ),
]
ATTACKS = [*VARIABLES, *FOLDERS, *LIMITS, *SIGNALS, *CLOCKS]
