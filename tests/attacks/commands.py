"""Attacks on commands: chat, generate, score, matrix, exercise, lab, push, start_from, distillation, outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.attacks.attack import Attack

SHORT = "--set training.steps=2 --set training.evaluate_every=2 --set encoder.size=8"


def lines(name: str, *texts: str) -> object:
    def write(place: Path) -> None:
        (place / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

    return write


CHATS = [
    Attack("chat", "no input", "regard chat runs/dialog < /dev/null", "answered"),
    Attack(
        "chat", "undo before anything", "printf '/undo\\n/history\\n/undo\\nhi\\n' | regard chat runs/dialog"
    ),
    Attack(
        "chat", "control characters", "printf 'hi\\x1b[2J\\x00there\\n\\n  \\n' | regard chat runs/dialog"
    ),
    Attack(
        "chat", "a turn of 200,000 letters", "head -c 200000 /dev/zero | tr '\\0' a | regard chat runs/dialog"
    ),
    Attack("chat", "broken UTF-8", "printf 'h\\xff\\xfei\\n' | regard chat runs/dialog"),
    Attack("chat", "not a model of dialogs", "echo hi | regard chat runs/caption", "refused"),
    Attack("chat", "an unknown slash command", "printf '/quit now\\n' | regard chat runs/dialog"),
]
GENERATED = [
    Attack(
        "generate",
        f"--{name} {value}",
        f"regard generate runs/lm --prompt Ann --length 5 --{name} {value}",
        end,
    )
    for name, value, end in (
        ("length", "0", "either"),
        ("length", "-1", "refused"),
        ("length", "x", "refused"),
        ("length", "999999999999999999999", "refused"),
        ("temperature", "0", "either"),
        ("temperature", "nan", "refused"),
        ("temperature", "inf", "refused"),
        ("temperature", "-1", "refused"),
        ("temperature", "1e-300", "either"),
        ("top-p", "0", "refused"),
        ("top-p", "2", "refused"),
        ("top-p", "nan", "refused"),
        ("top-k", "0", "refused"),
        ("top-k", "100000000", "either"),
        ("seed", "-1", "refused"),
        ("seed", "99999999999999999999", "refused"),
    )
] + [
    Attack("generate", "an empty prompt", "regard generate runs/lm --prompt '' --length 5"),
    Attack(
        "generate",
        "a prompt of unknown characters",
        "regard generate runs/lm --prompt '\u4eba\u0000'".replace("\0", "") + " --length 5",
    ),
    Attack("generate", "not a language model", "regard generate runs/words --prompt a", "refused"),
]
SCORES = [
    Attack("score", "no target", "regard score runs/words ban", "refused"),
    Attack("score", "an empty target", "regard score runs/words ban ''"),
    Attack("score", "a target of unknown words", "regard score runs/words ban 'Q Q \u4eba'"),
    Attack("score", "empty texts", "regard score runs/words '' ''", "refused"),
    Attack(
        "score",
        "a file without the target",
        "regard score runs/words -f only.tsv",
        "refused",
        prepare=lines("only.tsv", "ban", "can"),
    ),
    Attack("score", "an empty file", "regard score runs/words -f none.tsv", prepare=lines("none.tsv")),
    Attack("score", "an empty text of a language model", "regard score runs/lm ''"),
    Attack("score", "a folder without a run", "regard score runs B C", "refused"),
]
MATRICES = [
    Attack("matrix", "an unknown task", "regard matrix nosuch", "refused"),
    Attack("matrix", "no minutes", "regard matrix translation --minutes 0", "refused"),
    Attack("matrix", "nan minutes", "regard matrix translation --minutes nan", "refused"),
    Attack("matrix", "negative minutes", "regard matrix translation --minutes -1", "refused"),
    Attack(
        "matrix", "an unknown mechanism", "regard matrix translation --only nosuch --minutes 1", "refused"
    ),
    Attack(
        "matrix",
        "runs that is a file",
        "regard matrix translation --only dot --minutes 0.01 --runs words.tsv",
        "refused",
    ),
    Attack(
        "matrix", "an output of unknown form", "regard matrix translation --minutes 1 -o x.exe", "refused"
    ),
]
LABS = [
    Attack("lab", setting, f"regard lab jacobian --set {setting}", "refused")
    for setting in (
        "steps=nan",
        "steps=-1",
        "steps=1e99",
        "steps=",
        "nosuch=1",
        "steps=999999999999",
        "steps=[1]",
    )
] + [Attack("lab", "an unknown lab", "regard lab nosuch", "refused")]

ANSWERS = {
    "prints for ever": "while True: print('x' * 1000)",
    "takes 40 GB": "x = bytearray(40 << 30)",
    "grows for ever": "x = []\nwhile True: x.append(bytearray(1 << 20))",
    "starts processes": "import os, time\nfor _ in range(200):\n    if os.fork() == 0: time.sleep(30); os._exit(0)",
    "sleeps for ever": "import time\ntime.sleep(100000)",
    "reads standard input": "input()",
    "leaves at once": "import os\nos._exit(0)",
    "leaves politely": "raise SystemExit(0)",
    "says that it is right": "print('right')\nimport sys\nsys.stdout.flush()\nimport os\nos._exit(0)",
    "closes its output": "import os\nos.close(1); os.close(2)",
    "is not Python": "this is not python (",
    "is binary": "\x00\x01\x02",
    "recurs": "def f(): f()\nf()",
    "kills its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGTERM)",
}


def answer(text: str) -> object:
    def write(place: Path) -> None:
        (place / "answer.py").write_text(text, encoding="utf-8")

    return write


def never_right(place: Path, output: str) -> str | None:
    return "graded as right" if "all right" in output.lower() or "✓" in output else None


EXERCISES = [
    Attack(
        "exercise",
        f"an answer that {name}",
        "regard exercise carousel answer.py; test $? -ne 0 && exit 2",
        "either",
        prepare=answer(text),
        check=never_right,
        seconds=180,
    )
    for name, text in ANSWERS.items()
] + [Attack("exercise", "an answer that is a folder", "mkdir a.py; regard exercise carousel a.py", "refused")]


def link_outside(place: Path) -> None:
    (place / "secret.txt").write_text("secret")
    os.symlink(place / "secret.txt", place / "runs" / "words" / "notes.txt")


def sparse(place: Path) -> None:
    with open(place / "runs" / "words" / "dump.bin", "wb") as file:
        file.truncate(20 << 30)


def nothing_secret(place: Path, output: str) -> str | None:
    found = [
        path
        for path in (place / "shared").rglob("*")
        if path.is_file() and b"secret" in path.read_bytes()[:100]
    ]
    return f"shared {found[0].name}" if found else None


def small(place: Path, output: str) -> str | None:
    size = sum(path.stat().st_size for path in (place / "shared").rglob("*") if path.is_file())
    return f"shared {size} bytes" if size > 50 << 20 else None


def foreign_stays(place: Path, output: str) -> str | None:
    return (
        None if (place / "shared" / "mine.txt").read_text() == "mine" else "a file of the user's was changed"
    )


def foreign(place: Path) -> None:
    (place / "shared").mkdir()
    (place / "shared" / "mine.txt").write_text("mine")


PUSHES = [
    Attack(
        "push",
        "a link to a file outside",
        "regard push runs/words folder:shared",
        prepare=link_outside,
        check=nothing_secret,
    ),
    Attack(
        "push", "a sparse file of 20 GB", "regard push runs/words folder:shared", prepare=sparse, check=small
    ),
    Attack(
        "push",
        "a folder with files",
        "regard push runs/words folder:shared",
        prepare=foreign,
        check=foreign_stays,
    ),
    Attack("push", "onto a file", "regard push runs/words folder:words.tsv", "refused"),
    Attack("push", "into itself", "regard push runs/words folder:runs/words/copy"),
    Attack("push", "onto itself", "regard push runs/words folder:runs/words", "refused"),
    Attack(
        "push", "the hub without a network", "regard push runs/words nobody/nothing", "refused", seconds=180
    ),
    Attack("push", "no run", "regard push nothing folder:shared", "refused"),
    Attack("hub", "a name without a network", "regard predict hf:nobody/nothing ban", "refused", seconds=180),
    Attack("hub", "a name that climbs", "regard predict hf:../../etc ban", "refused", seconds=180),
]


def plug_in(place: Path) -> None:
    path = place / "runs" / "words" / "spec.yaml"
    path.write_text(path.read_text().replace("cell: gru", "cell: {type: os.system}"))


STARTS = [
    Attack(
        "start_from",
        "no such run",
        f"regard train words.tsv -o x {SHORT} --set training.start_from=nothing",
        "refused",
    ),
    Attack(
        "start_from",
        "a file",
        f"regard train words.tsv -o x {SHORT} --set training.start_from=words.tsv",
        "refused",
    ),
    Attack(
        "start_from",
        "a model of another kind",
        f"regard train words.tsv -o x {SHORT} --set training.start_from=runs/caption",
    ),
    Attack(
        "start_from",
        "itself",
        f"regard train words.tsv -o runs/words --overwrite {SHORT} --set training.start_from=runs/words",
    ),
    Attack(
        "distill",
        "no such run",
        f"regard train words.tsv -o x {SHORT} --set 'training.distill={{from: [nothing]}}'",
        "refused",
    ),
    Attack(
        "distill",
        "a model of another kind",
        f"regard train words.tsv -o x {SHORT} --set 'training.distill={{from: [runs/caption]}}'",
        "refused",
    ),
    Attack(
        "distill",
        "nothing to learn from",
        f"regard train words.tsv -o x {SHORT} --set 'training.distill={{from: []}}'",
        "refused",
    ),
    Attack(
        "spec",
        "a saved spec that names a program",
        "regard predict runs/words ban",
        "refused",
        prepare=plug_in,
    ),
]
OUTPUTS = [
    Attack("outputs", f"{option} {path}", f"regard {command} {option} {path}", end)
    for command, option in (
        ("evaluate runs/words", "--predictions"),
        ("evaluate runs/words", "--json"),
        ("predict runs/words ban", "-o"),
    )
    for path, end in (
        ("/dev/full", "refused"),
        ("runs", "refused"),
        ("words.tsv", "refused"),
        ("no/such/folder/x.tsv", "either"),
        ("''", "refused"),
    )
]


def hostile(place: Path) -> None:
    runs = place / "many"
    for name, text in (
        ("broken", "{"),
        ("list", "[]"),
        ("number", "1e999"),
        ("deep", "[" * 5000),
        ("null", "null"),
        ("\x1b[2Jclear", json.dumps({"test": {"bleu": 1}})),
        ("new\nline", json.dumps({"test": {"bleu": float("nan")}})),
    ):
        (runs / name).mkdir(parents=True)
        (runs / name / "metrics.json").write_text(text)
        (runs / name / "spec.yaml").write_text("inputs: [")
    os.symlink(runs, runs / "loop")
    os.symlink("/nowhere", runs / "dangling")
    os.mkfifo(runs / "pipe")
    (runs / "fifo").mkdir()
    os.mkfifo(runs / "fifo" / "metrics.json")
    with open(runs / "broken" / "model.safetensors", "wb") as file:
        file.truncate(8 << 30)


def printable(place: Path, output: str) -> str | None:
    return "control characters on the terminal" if "\x1b[2J" in output else None


LISTS = [
    Attack("runs", "hostile folders", "regard runs many", prepare=hostile, check=printable),
    Attack("runs", "no folder", "regard runs nothing"),
    Attack("runs", "a file", "regard runs words.tsv"),
    Attack("list", "an unknown word", "regard list nosuchthing"),
]
ATTACKS = [*CHATS, *GENERATED, *SCORES, *MATRICES, *LABS, *EXERCISES, *PUSHES, *STARTS, *OUTPUTS, *LISTS]
