"""The regions of an image or an audio recording that tokens refer to."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.data.columns import column_from_state
from regard.data.columns.places import PlacesColumn


def column() -> PlacesColumn:
    return PlacesColumn("places", of=("image", "caption"))


def test_a_box_covers_the_cells_whose_centre_it_holds() -> None:
    # A grid of 2 rows and 4 columns: centers at x = 1/8, 3/8, 5/8, 7/8 and y = 1/4, 3/4.
    places = column().collate([column().encode("1:0.3,0.0,0.7,0.5")])
    table = places.on(torch.ones(1, 8, dtype=torch.bool), (2, 4), 3)
    assert table.shape == (1, 3, 8)
    assert table[0, 1].tolist() == [0, 0.5, 0.5, 0, 0, 0, 0, 0]
    assert not table[0, 0].any() and not table[0, 2].any()


def test_a_box_without_a_centre_counts_for_the_cell_it_covers_most() -> None:
    # x from 0.19 to 0.29 lies mostly in column 0 (to 0.25), y in the lower row.
    places = column().collate([column().encode("0:0.19,0.55,0.29,0.60")])
    assert places.on(torch.ones(1, 8, dtype=torch.bool), (2, 4), 1)[0, 0].tolist() == [0, 0, 0, 0, 1, 0, 0, 0]


def test_spans_of_time_follow_each_rows_own_length() -> None:
    whole = column()
    places = whole.collate([whole.encode("0:0,0.5 1:0.5,1"), whole.encode("0:0,0.5")])
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    table = places.on(mask, None, 2)
    assert table[0].tolist() == [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]
    assert table[1].tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]


def test_several_places_of_a_token_and_steps_beyond_the_output() -> None:
    places = column().collate([column().encode("0:0,0,0.5,1 0:0.5,0,1,1 5:0,0,1,1")])
    table = places.on(torch.ones(1, 4, dtype=torch.bool), (2, 2), 2)
    assert table[0, 0].tolist() == [0.25] * 4
    assert not table[0, 1].any()


def test_rows_without_places_and_the_way_back() -> None:
    whole = column()
    assert whole.decode(whole.encode("1:0.1,0.2,0.35,0.45 4:0,0,1,1")) == "1:0.1,0.2,0.35,0.45 4:0,0,1,1"
    places = whole.collate([whole.encode(""), whole.encode("2:0,0.5")])
    assert places.steps.tolist() == [[-1], [2]]
    again = column_from_state(whole.state())
    assert isinstance(again, PlacesColumn) and again.of == ("image", "caption")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("1:0.1,0.2,0.3", "expected token:left"),
        ("x:0.1,0.2", "expected token:left"),
        ("1:0.1,1.2", "expected token:left"),
        ("1:0.5,0.5,0.4,0.9", "is empty"),
        ("1:0.1,0.2 2:0,0,1,1", "mixes"),
    ],
)
def test_what_is_wrong_is_said(value: str, reason: str) -> None:
    assert reason in str(column().check(value))


def test_a_token_that_does_not_exist() -> None:
    beside = {"caption": np.zeros(3, dtype=np.int32)}
    assert "token 3, but caption has 3" in str(column().check_beside(column().encode("3:0,1"), beside))
    assert column().check_beside(column().encode("2:0,1"), beside) is None


def test_a_label_may_have_places_for_each_glimpse_and_a_text_for_its_tokens_alone() -> None:
    whole = column()
    encoded = whole.encode("0:0,0,0.5,1 1:0.5,0,1,1")
    assert whole.check_beside(encoded, {"caption": np.array(3)}) is None
    assert "names token 1" in str(whole.check_beside(encoded, {"caption": np.array([3])}))
