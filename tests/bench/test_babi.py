"""bench/babi.py: --cross compares settings over parts that share no story and omit none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_every_story_is_held_out_once_and_learned_from_otherwise(
    tmp_path: Path, of_bench: Callable[[str], Any]
) -> None:
    babi = of_bench("babi")
    story = "1 The box is above ball {0}.\n2 Is ball {0} above the box?\tno\t1\n3 Is the box above ball {0}?\tyes\t1\n"
    (tmp_path / "en").mkdir()
    whole = "".join(story.format(number) for number in range(7))
    (tmp_path / "en" / "qa17_positional-reasoning_train.txt").write_text(whole, encoding="utf-8")
    starts = babi.crossed(17, ["simple"], 3, tmp_path / "en", tmp_path / "runs")
    assert len(starts) == 3 * len(babi.POSITIONS) and len({start.seed for start in starts}) == len(starts)
    lines = []
    for part in range(3):
        of_part = [start for start in starts if (start.seed - 1) % 3 == part]
        (train,), (held,) = {start.train for start in of_part}, {start.test for start in of_part}
        rest, kept = (Path(path).read_text(encoding="utf-8").splitlines() for path in (train, held))
        assert len(rest) + len(kept) == 21 and sorted(rest + kept) == sorted(whole.splitlines())
        assert all(line.startswith("1 ") for line in (rest[0], kept[0]))
        lines += kept
    assert sorted(lines) == sorted(whole.splitlines())
    overrides = starts[0].overrides()
    assert f"data.test={starts[0].test}" in overrides and "qa17" not in "".join(overrides)
