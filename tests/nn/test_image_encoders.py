"""Image encoders: published shapes and sizes, and the memory of an image."""

from __future__ import annotations

import importlib.util

import pytest
import torch

from regard.data.media import Images
from regard.errors import MissingExtra, RegardError
from regard.nn.encoders.image import (
    VGG,
    VGG13,
    VGG16,
    Backbone,
    ImageEncoder,
    LeNet,
    ResidualNetwork,
    make_network,
)
from regard.nn.encoders.image.lenet import SEEN


def pictures(count: int = 2, size: tuple[int, int] = (32, 32), colors: int = 3, seed: int = 0) -> Images:
    generator = torch.Generator().manual_seed(seed)
    return Images(torch.randint(0, 256, (count, colors, *size), dtype=torch.uint8, generator=generator))


def parameters(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_lenet_has_the_published_number_of_parameters_in_each_layer():
    net = LeNet((1, 32, 32))
    published = {"c1": 156, "s2": 12, "c3": 1516, "s4": 32, "c5": 48120, "f6": 10164}
    assert {name: parameters(getattr(net, name)) for name in published} == published
    assert net.grid == (5, 5) and net.channels == 16 and net.summary_size == 84


def test_lenet_connects_c3_as_in_the_published_table():
    # Table I of LeCun et al. 1998, column by column
    table = "012 123 234 345 045 015 0123 1234 2345 0345 0145 0125 0134 1245 0235 012345"
    assert " ".join("".join(map(str, sorted(maps))) for maps in SEEN) == table
    net = LeNet((1, 32, 32))
    maps = torch.randn(1, 6, 14, 14, requires_grad=True)
    net.c3(maps)[0, 6].sum().backward()
    touched = [bool(maps.grad[0, below].abs().sum() > 0) for below in range(6)]
    assert touched == [True, True, True, True, False, False]


@pytest.mark.parametrize(("made", "published"), [(VGG16, 138_357_544), (VGG13, 133_047_848)])
def test_a_published_vgg_gives_196_places_and_fc7(made, published):
    with torch.device("meta"):
        net = made((3, 224, 224))
        features, summary = net(torch.empty(2, 3, 224, 224))
    assert features.shape == (2, 512, 14, 14) and summary.shape == (2, 4096)
    assert net.grid == (14, 14) and net.grid[0] * net.grid[1] == 196
    # as published, less the last layer to 1,000 classes
    assert parameters(net) == published - (4096 * 1000 + 1000)


@pytest.mark.parametrize("made", [ResidualNetwork, VGG])
@pytest.mark.parametrize("cell", [1, 2, 4, 8])
@pytest.mark.parametrize("size", [(32, 32), (30, 45)])
def test_a_cell_is_as_many_pixels_as_asked(made, cell, size):
    net = made((3, *size), channels=(4, 6, 8), stride=cell)
    features, summary = net(torch.randn(2, 3, *size))
    assert net.grid == tuple(-(-side // cell) for side in size)
    assert features.shape == (2, 8, *net.grid) and summary.shape == (2, 8)


def test_cells_that_cannot_be_are_refused():
    with pytest.raises(RegardError, match="power of two"):
        ResidualNetwork((3, 32, 32), stride=6)
    with pytest.raises(RegardError, match="4 halvings; the network can make 2"):
        VGG((3, 32, 32), channels=(4, 4), stride=16)
    with pytest.raises(RegardError, match="at least 16 × 16 pixels"):
        LeNet((1, 12, 40))
    with pytest.raises(RegardError, match=r"no network 'resnet99'.*Did you mean resnet"):
        make_network("resnet99", (3, 32, 32))


@pytest.mark.parametrize("network", ["lenet", "resnet", "vgg"])
@pytest.mark.parametrize("position", ["none", "coordinates", "learned"])
def test_the_memory_of_a_picture(network, position):
    torch.manual_seed(0)
    encoder = ImageEncoder(make_network(network, (3, 32, 40)), position=position).eval()
    seen = pictures(3, (32, 40))
    memory = encoder(seen)
    rows, columns = memory.shape
    assert memory.layout == "grid" and memory.values.shape == (3, rows * columns, encoder.value_size)
    assert bool(memory.mask.all()) and memory.summary.shape == (3, encoder.summary_size)
    names = encoder.position_names(seen)
    assert len(names) == 3 and len(names[0]) == rows * columns
    assert names[0][0] == "0,0" and names[0][columns] == "1,0" and names[0][-1] == f"{rows - 1},{columns - 1}"
    alone = encoder(Images(seen.pixels[1:2]))
    torch.testing.assert_close(memory.values[1:2], alone.values, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(memory.summary[1:2], alone.summary, atol=1e-5, rtol=1e-4)


def test_places_lie_row_by_row():
    torch.manual_seed(0)
    encoder = ImageEncoder(ResidualNetwork((3, 16, 24), channels=(8, 8, 8), stride=8), position="none").eval()
    ground = torch.full((1, 3, 16, 24), 100, dtype=torch.uint8)
    spotted = ground.clone()
    spotted[:, :, 12, 20] = 255  # in the cell of row 1, column 2
    change = (encoder(Images(spotted)).values - encoder(Images(ground)).values).abs().sum(-1)[0]
    assert int(change.argmax()) == 1 * 3 + 2


def test_coordinates_say_where_a_place_is():
    encoder = ImageEncoder(VGG((3, 16, 32), channels=(4, 4, 4), stride=8), position="coordinates").eval()
    where = encoder(pictures(1, (16, 32))).values[0, :, -2:]
    assert where.tolist() == [
        [x, y] for y in (-0.5, 0.5) for x in (-0.75, -0.25, 0.25, 0.75)
    ]  # the centers of 2 × 4 cells


def test_without_position_a_thing_looks_the_same_wherever_it_is_and_with_it_does_not():
    torch.manual_seed(0)
    picture = torch.full((1, 3, 48, 48), 90, dtype=torch.uint8)
    for left in (8, 32):
        picture[:, :, 20:26, left : left + 6] = 200
    values = {}
    for position in ("none", "learned"):
        net = ResidualNetwork((3, 48, 48), channels=(4, 4, 4), stride=8)
        memory = ImageEncoder(net, position=position).eval()(Images(picture))
        values[position] = memory.values[0, 2 * 6 + 1] - memory.values[0, 2 * 6 + 4]
    torch.testing.assert_close(values["none"], torch.zeros(4), atol=1e-5, rtol=0)
    assert bool(values["learned"].abs().max() > 1e-3)


def test_pixels_are_normalised_from_bytes():
    net = LeNet((1, 32, 32))
    encoder = ImageEncoder(net)
    black, white = (Images(torch.full((1, 1, 32, 32), level, dtype=torch.uint8)) for level in (0, 255))
    seen = []
    net.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    encoder(black), encoder(white)
    torch.testing.assert_close(seen[0], torch.full((1, 1, 32, 32), 1.175))  # LeCun et al. 1998, section II.B
    torch.testing.assert_close(seen[1], torch.full((1, 1, 32, 32), -0.1))


def test_a_connected_summary_knows_where_things_are_and_a_mean_does_not():
    torch.manual_seed(0)
    picture = torch.full((2, 3, 48, 48), 90, dtype=torch.uint8)
    picture[0, :, 20:26, 16:22] = 200
    picture[1, :, 20:26, 24:30] = 200
    for summary, differs in ((None, False), (16, True)):
        net = ResidualNetwork((3, 48, 48), channels=(4, 4, 4), stride=8, connected=summary)
        told = ImageEncoder(net).eval()(Images(picture)).summary
        assert bool((told[0] - told[1]).abs().max() > 1e-4) == differs


def test_a_normed_summary_is_not_moved_by_what_moves_all_of_its_units():
    torch.manual_seed(0)
    seen = pictures(4)
    for norm, moves in ((False, True), (True, False)):
        net = ResidualNetwork((3, 32, 32), channels=(4, 4, 4), stride=8, connected=16, connected_norm=norm)
        encoder = ImageEncoder(net).double().eval()
        before = encoder(seen).summary
        with torch.no_grad():  # like a step of Adam in which all units have the same gradient
            net.summary.layer.weight += torch.rand(1, net.summary.layer.in_features)
        after = encoder(seen).summary
        assert bool((after - before).abs().max() > 1e-6) == moves
        assert (after > 0).any(1).all()
    # over the units of an image: mean 0 and variance 1 before the relu
    units = net.summary.norm(net.summary.layer(torch.rand(4, net.summary.layer.in_features).double()))
    torch.testing.assert_close(units.mean(1), torch.zeros(4).double(), atol=1e-9, rtol=0)
    torch.testing.assert_close(units.var(1, unbiased=False), torch.ones(4).double(), atol=1e-3, rtol=0)


def test_all_weights_learn():
    torch.manual_seed(0)
    for network in (
        LeNet.Options(),
        ResidualNetwork.Options(connected=128),
        VGG.Options(connected=128, connected_norm=True),
    ):
        encoder = ImageEncoder(make_network(network, (3, 32, 32)), position="learned")
        memory = encoder(pictures(4))
        (memory.values.square().sum() + memory.summary.square().sum()).backward()
        still = [name for name, parameter in encoder.named_parameters() if parameter.grad is None]
        assert still == []


@pytest.mark.skipif(importlib.util.find_spec("timm") is not None, reason="timm is installed")
def test_timm_is_asked_for_where_it_is_missing():
    with pytest.raises(MissingExtra, match=r"timm resnet18 needs timm.*regard\[vision\]"):
        make_network(Backbone.Options(name="resnet18"), (3, 64, 64))


class TestTimm:
    @pytest.fixture(autouse=True)
    def _timm(self):
        pytest.importorskip("timm")

    def test_a_backbone_gives_a_grid(self):
        encoder = ImageEncoder(Backbone("resnet18", (3, 64, 64))).eval()
        memory = encoder(pictures(2, (64, 64)))
        assert memory.shape == (2, 2) and memory.values.shape == (2, 4, 512)

    def test_a_frozen_backbone_stays_as_it_is(self):
        encoder = ImageEncoder(Backbone("resnet18", (3, 64, 64), frozen=True), position="learned").train()
        before = {name: value.clone() for name, value in encoder.network.body.state_dict().items()}
        encoder(pictures(2, (64, 64))).values.sum().backward()
        assert all(parameter.grad is None for parameter in encoder.network.body.parameters())
        after = encoder.network.body.state_dict()
        assert all(torch.equal(before[name], after[name]) for name in before)

    def test_the_features_of_a_frozen_backbone_are_computed_once(self):
        encoder = ImageEncoder(Backbone("resnet18", (3, 64, 64), frozen=True), position="none")
        seen, runs = pictures(3, (64, 64)), []
        computed = encoder.eval()(seen).values
        encoder.train()
        encoder.network.body.register_forward_hook(lambda *_: runs.append(1))
        first, again = encoder(seen).values, encoder(seen).values
        assert len(runs) == 3 and torch.equal(first, again)
        torch.testing.assert_close(first, computed, rtol=1e-4, atol=1e-5)

    def test_weights_that_cannot_be_fetched_are_an_error_with_a_remedy(self, monkeypatch):
        import timm

        def offline(*_, pretrained, **__):
            raise OSError("no network\nmore")

        monkeypatch.setattr(timm, "create_model", offline)
        with pytest.raises(
            RegardError, match=r"weights of resnet18 could not be loaded: no network\..*Fetch"
        ) as error:
            Backbone("resnet18", (3, 64, 64), pretrained=True)
        assert "encoder.network.pretrained" in str(error.value)

    def test_an_unknown_name_is_refused(self):
        with pytest.raises(RegardError, match="timm has no network 'resnet18x'"):
            Backbone("resnet18x", (3, 64, 64))
