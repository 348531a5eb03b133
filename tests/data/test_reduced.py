"""Inputs without some positions: the encoding equals that of the value written without them."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from regard.data.columns import DocumentColumn, ImageColumn, StoryColumn, TextColumn
from regard.data.columns.series import SeriesColumn
from regard.data.columns.video import VideoColumn

KEPT = np.array([True, False, True])


def test_words_and_characters_are_left_out_or_unknown() -> None:
    column = TextColumn("x")
    column.learn(["one two three"])
    found = column.reduced(column.encode("one two three"), KEPT)
    np.testing.assert_array_equal(found, column.encode("one three"))
    filled = column.reduced(column.encode("one two three"), KEPT, fill=True)
    np.testing.assert_array_equal(filled, column.encode("one nine three"))
    assert column.reduced_text("one two three", KEPT) == "one three"
    assert column.reduced(column.encode("one two"), KEPT) is None
    letters = TextColumn("x", unit="char")
    letters.learn(["abc"])
    np.testing.assert_array_equal(letters.reduced(letters.encode("abc"), KEPT), letters.encode("ac"))


@pytest.mark.parametrize("made", [DocumentColumn, StoryColumn])
def test_sentences_are_left_out_whole_and_words_one_by_one(made: type[DocumentColumn]) -> None:
    column = made("x")
    text = "The cat sleeps. A dog runs away. It rains."
    column.learn([text])
    encoded = column.encode(text)
    np.testing.assert_array_equal(column.reduced(encoded, KEPT), column.encode("The cat sleeps. It rains."))
    assert (
        column.encode(column.reduced_text(text, KEPT)).tolist()
        == column.encode("The cat sleeps. It rains.").tolist()
    )
    words = np.ones(9, dtype=bool)
    words[[1, 7, 8]] = False  # a word, and a whole sentence
    expected = [column.encode("The sleeps. A dog runs away.").tolist()]
    assert [column.reduced(encoded, words, words=True).tolist()] == expected  # type: ignore[union-attr]
    assert column.reduced(encoded, words) is None


def test_cells_of_an_image_become_its_mean() -> None:
    column = ImageColumn("x", size=4)
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    encoded = column.encode(column.written(Image.fromarray(pixels)))
    kept = np.array([[True, False], [True, True]])
    found = column.reduced(encoded, kept)
    assert found is not None
    np.testing.assert_array_equal(found[:2, 2:], np.broadcast_to(np.rint(encoded.mean((0, 1))), (2, 2, 3)))
    np.testing.assert_array_equal(found[2:], encoded[2:])
    np.testing.assert_array_equal(found[:2, :2], encoded[:2, :2])
    assert column.reduced(encoded, np.ones(4, dtype=bool)) is None


def test_frames_and_vectors_are_left_out() -> None:
    frames = np.arange(3 * 4 * 4 * 3, dtype=np.uint8).reshape(3, 4, 4, 3)
    video = VideoColumn("x", size=4)
    np.testing.assert_array_equal(video.reduced(frames, KEPT), frames[[0, 2]])
    vectors = np.arange(12.0, dtype=np.float32).reshape(6, 2)
    series = SeriesColumn("x")
    np.testing.assert_array_equal(series.reduced(vectors, KEPT), vectors[[0, 1, 4, 5]])
    filled = series.reduced(vectors, KEPT, fill=True)
    np.testing.assert_allclose(filled[2:4], np.broadcast_to(vectors.mean(0), (2, 2)))  # type: ignore[index]
