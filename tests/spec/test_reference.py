"""The reference page of keys is up to date."""

from __future__ import annotations

from pathlib import Path

from regard.spec.reference import page


def test_the_page_of_keys_is_current() -> None:
    written = Path(__file__).parents[2] / "docs" / "spec.md"
    assert written.read_text(encoding="utf-8") == page(), (
        "run: python -m regard.spec.reference > docs/spec.md"
    )
