"""The built script: small, current, and without what the policy of pages forbids."""

import gzip
import re
from hashlib import sha256
from pathlib import Path

import pytest

from regard.live import bundle, stylesheet

SOURCES = Path(__file__).parents[2] / "web" / "src"
LARGEST = 40_000


def test_the_script_is_small():
    assert len(gzip.compress(bundle().read_bytes(), 9)) <= LARGEST


@pytest.mark.skipif(not SOURCES.is_dir(), reason="web/src is not here")
@pytest.mark.parametrize("built", [bundle(), stylesheet()], ids=lambda path: path.name)
def test_the_script_was_built_from_these_sources(built):
    digest = sha256()
    for path in sorted(SOURCES.iterdir()):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    made = re.search(r"sha256 ([0-9a-f]{64})", built.read_text()[:500])
    assert made and made[1] == digest.hexdigest(), "run `make web`: regard/live/static is older than web/src"


def test_the_license_of_preact_stands_in_the_script():
    assert "The MIT License" in bundle().read_text()[:2000]


def test_the_script_reaches_nothing_else_and_makes_no_code_of_text():
    script = bundle().read_text()
    for forbidden in ("eval(", "new Function", "document.write", "insertAdjacentHTML", "importScripts"):
        assert forbidden not in script, forbidden
    known = {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xhtml",
        "http://www.w3.org/1998/Math/MathML",
    }
    code = script.partition("*/\n")[2].partition("*/\n")[2]
    assert set(re.findall(r"https?://[^\s\"'`)]+", code)) <= known


@pytest.mark.skipif(not SOURCES.is_dir(), reason="web/src is not here")
def test_no_source_makes_markup_of_text():
    for path in SOURCES.iterdir():
        for forbidden in ("innerHTML", "InnerHTML", "outerHTML", "insertAdjacentHTML", "style="):
            lines = [
                line for line in path.read_text().splitlines() if forbidden in line and "style={{" not in line
            ]
            assert not lines, (path.name, lines)
