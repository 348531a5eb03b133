"""Some 1,000 cases of almost valid content, or 2,000 with --thorough: each gives the same answer as before or is
refused with a reason.

`python bench/fuzz.py --cases 20000` runs more.
"""

from __future__ import annotations

import pytest

from tests.fuzz.cases import KINDS, Workshop, run_kind, shares
from tests.fuzz.harness import MOST_MEMORY

CASES, MORE = 1000, 2000


@pytest.mark.parametrize("kind", KINDS)
def test_mutants(shop: Workshop, kind: str, thorough: bool) -> None:
    count = run_kind(shop, kind, shares(MORE if thorough else CASES)[kind], seed=1)
    assert not count.bad, f"{kind}: {count.bad} bad of {count.cases}\n" + "\n".join(count.examples[:5])
    assert count.peak <= MOST_MEMORY
    assert (count.same if kind == "caches" else count.refused) > 0
