"""The label and tags decoders, against torch's losses and sums by hand."""

from __future__ import annotations

import pytest
import torch

from regard.errors import RegardError
from regard.nn import Attention, Embedding, LabelDecoder, MeanEncoder, Memory, TagsDecoder
from regard.nn.mean_position import mean_position

from .conftest import SOURCE, TARGET, VOCABULARY, tokens


def memories():
    torch.manual_seed(0)
    left, right = MeanEncoder(Embedding(VOCABULARY, 5)), MeanEncoder(Embedding(VOCABULARY, 7))
    return {"left": left, "right": right}, {"left": left(SOURCE), "right": right(TARGET)}


def test_label_of_the_summaries():
    sources, given = memories()
    decoder = LabelDecoder(4, sources)
    target = torch.tensor([0, 3, 1])
    features = torch.cat([given["left"].summary, given["right"].summary], 1)
    logits = features @ decoder.output.weight.T + decoder.output.bias
    loss = decoder.loss(given, target)
    torch.testing.assert_close(loss.mean, torch.nn.functional.cross_entropy(logits, target))
    found = decoder.predict(given)
    assert torch.equal(found.value, logits.argmax(1))
    torch.testing.assert_close(found.scores, torch.log_softmax(logits, 1).amax(1))


@pytest.mark.parametrize("combine", ["beside", "gated"])
def test_what_is_seen_and_asked_is_combined(combine):
    sources, given = memories()
    decoder = LabelDecoder(4, sources, hidden=9, combine=combine)
    left, right = given["left"].summary, given["right"].summary  # the last one is the query
    if combine == "beside":
        layer = decoder.hidden.layer
        state = torch.relu(torch.cat([left, right], 1) @ layer.weight.T + layer.bias)
    else:
        (seen,), gates = decoder.hidden.parts, decoder.hidden.gates
        state = torch.tanh(left @ seen.weight.T + seen.bias) * torch.tanh(right @ gates.weight.T + gates.bias)
    expected = torch.log_softmax(state @ decoder.output.weight.T + decoder.output.bias, 1)
    torch.testing.assert_close(decoder.predict(given).log_probabilities, expected.detach())


def test_whereabouts_of_looks():
    ones = torch.ones(1, 6, dtype=torch.bool)
    grid = Memory(torch.zeros(1, 6, 1), ones, torch.zeros(1, 1), layout="grid", shape=(2, 3))
    looks = torch.zeros(1, 2, 6)
    looks[0, 0, 0] = 1  # top left: x −2/3, y −1/2
    looks[0, 1, 4] = looks[0, 1, 5] = 0.5  # bottom, between the middle and the right: x 1/3, y 1/2
    found = mean_position(looks, grid)[0].tolist()
    assert found == pytest.approx([-2 / 3, -1 / 2, 1 / 3, 1 / 2, 1, 1])
    mask = torch.tensor([[True, True, False]])
    line = Memory(torch.zeros(1, 3, 1), mask, torch.zeros(1, 1))
    assert mean_position(torch.tensor([[[0.0, 1.0, 0.0]]]), line)[0].tolist() == pytest.approx([0.5])


def test_class_weights():
    sources, given = memories()
    weights = torch.tensor([1.0, 2.0, 0.5, 4.0])
    decoder = LabelDecoder(4, sources, class_weights=weights)
    target = torch.tensor([0, 3, 1])
    logits, _ = decoder(given)
    torch.testing.assert_close(
        decoder.loss(given, target).mean, torch.nn.functional.cross_entropy(logits, target, weight=weights)
    )


def test_label_with_a_learned_query_or_another_source_s_summary():
    sources, given = memories()
    learned = LabelDecoder(4, {"left": sources["left"]}, attention={"left": Attention(6, 5)})
    learned.loss(given, torch.tensor([0, 1, 2])).total.backward()
    assert learned.query.grad.abs().max() > 0
    assert learned.predict(given).attention["left"].shape == (3, 1, 5)

    asked = LabelDecoder(4, sources, attention={"left": Attention(7, 5)}, query="right")
    look = asked.reading.attention("left")(given["right"].summary.unsqueeze(1), given["left"])
    features = torch.cat([look.context[:, 0], given["right"].summary], 1)
    expected = torch.log_softmax(features @ asked.output.weight.T + asked.output.bias, 1)
    torch.testing.assert_close(asked.predict(given).log_probabilities, expected.detach())


def test_label_guided():
    sources, given = memories()
    decoder = LabelDecoder(4, {"left": sources["left"]}, attention={"left": Attention(6, 5)}, guide=2.0)
    truth = torch.zeros(3, 1, 5)
    truth[:, 0, 1] = 1
    loss = decoder.loss(given, torch.tensor([0, 1, 2]), truth=truth)
    _, looks = decoder(given)
    torch.testing.assert_close(loss.parts["guide"], -looks["left"][:, 0, 1].log().sum().detach())
    torch.testing.assert_close(loss.total.detach(), loss.parts["likelihood"] + 2 * loss.parts["guide"])


def test_tags_by_position():
    sources, given = memories()
    decoder = TagsDecoder(3, sources, of="left")
    target = tokens([1, 2, 0, 1, 2], [1, 1], [0, 2, 2, 1])
    logits = given["left"].values @ decoder.output.weight.T + decoder.output.bias
    expected = sum(
        torch.nn.functional.cross_entropy(logits[row, :length], target.ids[row, :length], reduction="sum")
        for row, length in enumerate([5, 2, 4])
    )
    loss = decoder.loss(given, target)
    torch.testing.assert_close(loss.total, expected)
    assert loss.count == 11
    assert torch.equal(decoder.predict(given).value, logits.argmax(-1))


def test_a_missing_tag_is_named():
    sources, given = memories()
    with pytest.raises(RegardError, match="exactly one tag"):
        TagsDecoder(3, sources, of="left").loss(given, tokens([1], [1], [1]))
    with pytest.raises(RegardError, match="need a source"):
        TagsDecoder(3, sources, of="middle")


def test_a_class_that_training_never_saw_counts_for_no_loss() -> None:
    from regard.nn.class_weights import class_cost, class_count

    logits = torch.tensor([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], requires_grad=True)
    weights = torch.tensor([1.0, 3.0])
    for given, whole in ((None, 2.0), (weights, 4.0)):
        target = torch.tensor([1, -1, 0])
        total = class_cost(logits, target, given)
        alone = class_cost(logits[[0, 2]], torch.tensor([1, 0]), given)
        assert float(total) == pytest.approx(float(alone)) and float(class_count(target, given)) == whole
    total.backward()
    assert logits.grad is not None and logits.grad[1].tolist() == [0.0, 0.0]
