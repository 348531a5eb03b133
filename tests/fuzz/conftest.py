from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.cases import Workshop


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
        return Workshop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(autouse=True)
def in_shop(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run commands in a private working directory with a private home."""
    work, home = shop.folder / "work", shop.folder / "home"
    for folder in (work, home):
        folder.mkdir(exist_ok=True)
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(home))
    return work
