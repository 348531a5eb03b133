"""The licenses of what regard needs, from the metadata of the installed packages.

    python bench/licenses.py                             of the environment that runs this script
    python bench/licenses.py --page docs/licenses.md     writes the table between its two marks

One row for each package that pyproject.toml names, with the license that it states, what it is needed for, and the
licenses of the packages that it brings in turn, if they differ from the usual ones. Exit status 1 if a package that is
always needed states no license, or one that is not permissive.
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib import metadata
from pathlib import Path

from extras import EXTRAS, FOR_OTHERS, PROJECT, brought, installed
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from written import parse, write_json

BEGIN, END = "<!-- packages: python bench/licenses.py --page docs/licenses.md -->", "<!-- end of packages -->"
PERMISSIVE = re.compile(
    r"Apache|BSD|MIT|ISC|PSF|Python|HPND|CNRI|0BSD|Zlib|MPL|Mozilla|LLVM|Unlicense|CC0|NCSA|Boost|Unicode",
    re.I,
)
COPYLEFT = re.compile(r"\bA?L?GPL|General Public", re.I)
LONGEST = 60


def license_of(name: str) -> str:
    """The license that a package states: an expression, a classifier, or a short text."""
    told = metadata.metadata(name)
    if told.get("License-Expression"):
        return str(told["License-Expression"])
    classified = [
        one.rpartition(" :: ")[2] for one in told.get_all("Classifier") or [] if one.startswith("License ::")
    ]
    short = str(told.get("License") or "").strip().splitlines()
    if classified and classified != ["OSI Approved"]:
        return ", ".join(classified)
    return short[0] if short and len(short[0]) <= LONGEST else "none stated in its metadata"


def copyleft(name: str) -> list[str]:
    """What a package brings under the GPL or the LGPL."""
    found = [one for one in sorted(brought(name)) if installed(one) and COPYLEFT.search(license_of(one))]
    return [one for one in found if one != canonicalize_name(name)]


def rows() -> list[dict[str, str]]:
    found = []
    places = {"always": PROJECT["dependencies"], **{k: v for k, v in EXTRAS.items() if k not in FOR_OTHERS}}
    needed: dict[str, list[str]] = {}
    for place, texts in places.items():
        for text in texts:
            needed.setdefault(Requirement(text).name, []).append(place)
    for name, where in needed.items():
        told = license_of(name) if installed(name) else "not installed"
        more = copyleft(name) if installed(name) else []
        found.append({"package": name, "license": told, "for": ", ".join(where), "brings": ", ".join(more)})
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table into this page")
    options = parse(parser)
    found = rows()
    lines = ["| package | license | needed for | brings under the GPL or LGPL |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(one.values())} |" for one in found]
    print(*lines, sep="\n")
    write_json(options.json, found)
    if options.page:
        page = options.page.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        table = "\n".join(lines)
        options.page.write_text(
            f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8"
        )
    always = [one for one in found if one["for"].startswith("always")]
    return 0 if all(PERMISSIVE.search(one["license"]) and not one["brings"] for one in always) else 1


if __name__ == "__main__":
    sys.exit(main())
