"""The video encoder: frames one by one, motion between neighboring frames, and no effect of padding."""

from __future__ import annotations

import pytest
import torch

from regard.data.media import Videos
from regard.nn.encoders.image import VGG
from regard.nn.encoders.video import VideoEncoder, neighbors


def films(lengths: list[int], *, colors: int = 3, side: int = 16, seed: int = 1) -> Videos:
    generator = torch.Generator().manual_seed(seed)
    frames = torch.randint(0, 256, (len(lengths), max(lengths), colors, side, side), generator=generator)
    for row, length in enumerate(lengths):
        frames[row, length:] = 0
    return Videos(frames.to(torch.uint8), torch.tensor(lengths))


def network(colors: int, size: int = 12) -> VGG:
    return VGG((colors, 16, 16), channels=(4, 8), stride=4, connected=size)


def encoder(**options) -> VideoEncoder:
    torch.manual_seed(1)
    motion = network(6, 5) if options.pop("motion", False) else None
    return VideoEncoder(network(3), motion=motion, size=10, **options).eval()


@pytest.mark.parametrize("motion", [False, True])
@pytest.mark.parametrize(
    ("options", "value_size", "summary_size"),
    [
        ({}, 20, 20),
        ({"bidirectional": False, "cell": "lstm"}, 10, 10),
        ({"cell": None}, None, None),
        ({"values": "frames"}, None, 20),
    ],
)
def test_sizes(options: dict, value_size: int | None, summary_size: int | None, motion: bool) -> None:
    features = 12 + 5 * motion
    made = encoder(motion=motion, **options)
    memory = made(films([4, 2]))
    assert memory.values.shape == (2, 4, value_size or features) and memory.layout == "frames"
    assert memory.summary.shape == (2, summary_size or features)
    assert (made.value_size, made.summary_size) == (memory.values.shape[-1], memory.summary.shape[-1])
    assert memory.mask.tolist() == [[True] * 4, [True, True, False, False]]
    assert made.position_names(films([4, 2])) == [
        [f"frame {n}" for n in (1, 2, 3, 4)],
        ["frame 1", "frame 2"],
    ]
    if options.get("values") == "frames":
        assert memory.keys is not None and memory.keys.shape == (2, 4, made.key_size)


@pytest.mark.parametrize("cell", ["gru", None])
def test_padding_and_company_change_nothing(cell) -> None:
    made = encoder(motion=True, cell=cell)
    batch = films([5, 2])
    together, alone = made(batch), made(Videos(batch.frames[1:, :2], batch.lengths[1:]))
    assert torch.allclose(together.values[1, :2], alone.values[0], atol=1e-5)
    assert torch.allclose(together.summary[1], alone.summary[0], atol=1e-5)
    assert not together.values[1, 2:].any()
    filled = batch.frames.clone()
    filled[1, 2:] = 255
    assert torch.allclose(made(Videos(filled, batch.lengths)).values[1], together.values[1], atol=1e-6)


def test_changes_are_to_the_frame_before_and_the_frame_after() -> None:
    pixels = torch.tensor([1.0, 4.0, 9.0, 0.0]).reshape(1, 4, 1, 1, 1)
    mask = torch.tensor([[True, True, True, False]])
    assert neighbors(pixels, mask)[0, :, :, 0, 0].tolist() == [[0, 3], [3, 5], [5, 0], [0, 0]]


def test_motion_alone_tells_the_direction_of_time() -> None:
    """The mean of the frames is the same in both directions; the mean of their differences is not."""
    forwards = films([5])
    backwards = Videos(forwards.frames.flip(1), forwards.lengths)
    still, moving = encoder(cell=None), encoder(cell=None, motion=True)
    assert torch.allclose(still(forwards).summary, still(backwards).summary, atol=1e-5)
    seen, turned = moving(forwards).summary, moving(backwards).summary
    assert torch.allclose(seen[:, :12], turned[:, :12], atol=1e-5)
    assert (seen[:, 12:] - turned[:, 12:]).abs().max() > 1e-3


def test_every_part_learns() -> None:
    made = encoder(motion=True).train()
    memory = made(films([3, 2]))
    (memory.values.square().sum() + memory.summary.sum()).backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in made.parameters())


def test_normalised_over_the_batch_or_at_each_place() -> None:
    """Batch normalization depends on the other images; normalization at each position does not."""
    pictures = torch.randn(3, 3, 16, 16)
    for normalise, alone in (("place", True), ("batch", False)):
        torch.manual_seed(1)
        made = VGG((3, 16, 16), channels=(4, 8), stride=4, normalize=normalise).train()
        with torch.no_grad():
            assert torch.allclose(made(pictures)[0][:1], made(pictures[:1])[0], atol=1e-5) == alone
