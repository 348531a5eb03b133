"""`regard lecture --check` from a wheel, in an empty folder: nothing of the repository is there.

    python bench/lectures_wheel.py              builds the wheel, installs it in a fresh environment, runs all checks
    python bench/lectures_wheel.py --only 000.41 002.4

The environment takes torch and the other packages from the one that runs this script, by a path file, and regard from
the wheel. Bars: at least 235 entries answered, of them 190 computed or trained with evidence; none fails; what is
unknown is not counted as a pass; and planted records count as nothing: a system that does not exist, a file whose
figure was changed, and a sealed result of another spec. Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections import Counter
from pathlib import Path

from written import parse, write_json

ROOT = Path(__file__).parents[1]
ANSWERED, SHOWN = 235, 190
PLANTED = """
import json, pathlib
import regard
from regard.course.lectures import LectureEntry, evidence, examine
print(pathlib.Path(regard.__file__).parents[1])

def state(**check):
    check = {"trained": "translation", "score": "test.bleu", "at_least": 0, **check}
    entry = {"number": 1, "place": "L1", "kind": "claim", "claim": "It is so.", "checks": [check]}
    evidence._stored.cache_clear()
    return examine(LectureEntry.model_validate(entry)).state

print("as stored", state())
print("an invented system", state(trained="invented", at_least=99.99))
folder = pathlib.Path("planted")
folder.mkdir()
path = sorted(evidence.FOLDER.glob("translation-seed-*.json"))[0]
content = json.loads(path.read_text())
content["scores"]["test"]["bleu"]["value"] = 99.99
evidence.FOLDER = folder
(folder / "one.json").write_text(json.dumps(content))
print("a changed figure", state())
content["spec"] = "another"
content["seal"] = evidence.sealed(content)
(folder / "one.json").write_text(json.dumps(content))
print("another spec", state())
"""


def installed(folder: Path) -> Path:
    """The Python of a fresh environment with regard from a wheel."""
    pip = [sys.executable, "-m", "pip"]
    told = subprocess.run(
        [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)], check=False
    )
    if told.returncode:
        sys.exit("The wheel could not be built.")
    venv.create(folder / "environment", with_pip=False)
    python = folder / "environment" / "bin" / "python"
    place = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "-q", "--no-deps", "--target", place, str(wheel)], check=True)
    (Path(place) / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="ENTRY", help="these entries")
    options = parse(parser)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = installed(folder)
        empty = folder / "empty"
        empty.mkdir()
        line = [python, "-m", "regard", "lecture", *options.only, "--check", f"--json={empty / 'told.json'}"]
        checked = subprocess.run(line, cwd=empty, env=environment, stdout=subprocess.DEVNULL, check=False)
        told = json.loads((empty / "told.json").read_text())
        planted = subprocess.run(
            [python, "-c", PLANTED], cwd=empty, env=environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()
    counts = Counter(one["state"] for one in told)
    answered = sum(counts[state] for state in ("computed", "trained", "board"))
    records = dict(one.rsplit(" ", 1) for one in planted[1:])
    print("regard from", planted[0])
    print(
        *(f"{state:10}{count:5}" for state, count in counts.most_common()),
        f"{'answered':10}{answered:5}",
        sep="\n",
    )
    print(*(f"{record:20}{state}" for record, state in records.items()), sep="\n")
    write_json(options.json, {"counts": dict(counts), "answered": answered, "records": records})
    wheel = str(ROOT) not in planted[0]
    enough = answered >= ANSWERED and counts["computed"] + counts["trained"] >= SHOWN
    false = all(
        state == ("trained" if record == "as stored" else "unknown") for record, state in records.items()
    )
    return 0 if wheel and false and (enough or options.only) and not checked.returncode else 1


if __name__ == "__main__":
    sys.exit(main())
