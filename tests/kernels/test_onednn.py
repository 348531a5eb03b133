"""On ARM, torch runs without oneDNN during training and prediction; afterwards the setting is restored."""

from __future__ import annotations

import pytest
import torch

from regard.structures.kernels.cpu import parallel


@pytest.mark.parametrize("before", [True, False])
def test_it_is_as_it_was_when_the_last_one_has_left(before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "ARM", True)
    with torch.backends.mkldnn.flags(enabled=before):
        first, second = parallel.without_onednn(), parallel.without_onednn()
        first.__enter__()
        second.__enter__()
        assert not torch.backends.mkldnn.enabled
        first.__exit__(None, None, None)  # another thread may exit first
        assert not torch.backends.mkldnn.enabled
        second.__exit__(None, None, None)
        assert torch.backends.mkldnn.enabled == before


def test_elsewhere_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "ARM", False)
    with torch.backends.mkldnn.flags(enabled=True), parallel.without_onednn():
        assert torch.backends.mkldnn.enabled
