"""Memory networks: the equations by hand, the joint choice by enumeration."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
import torch
from torch import Tensor

from regard.data.batch import Sentences, Tokens
from regard.errors import RegardError
from regard.model.building import build_network, make_columns
from regard.nn import Attention, BagEncoder, Embedding, MemoryNetworkDecoder, StoryEncoder
from regard.nn.encoders.bag import position_encoding
from regard.nn.encoders.story import begin_with_words
from regard.nn.selections import Facts, Given
from regard.spec import Spec

IDS = torch.tensor([[[4, 5, 6], [5, 7, 0], [6, 0, 0]], [[7, 4, 0], [0, 0, 0], [0, 0, 0]]])
STORY = Sentences.padded(IDS, torch.tensor([3, 1]))
QUESTION = Tokens(torch.tensor([[5, 6], [4, 0]]), torch.tensor([2, 1]))
TARGET = torch.tensor([1, 0])
SIZE = 4


def bag() -> BagEncoder:
    return BagEncoder(Embedding(8, SIZE))


def made(
    select: str, tables: int = 1, **options: object
) -> tuple[StoryEncoder, BagEncoder, MemoryNetworkDecoder]:
    torch.manual_seed(1)
    story = StoryEncoder([bag() for _ in range(tables + 1)], ages=2)
    torch.nn.init.normal_(story.ages)
    attention = Attention(SIZE, SIZE, score="dot", select=Facts() if select == "facts" else select)
    decoder = MemoryNetworkDecoder(
        3, attention, story="story", question="question", reach=1, tables=tables, **{"hops": 2, **options}
    )
    if select == "facts":
        moves = decoder.following if decoder.adds else decoder.transitions
        torch.nn.init.normal_(moves.distances)
    return story, bag(), decoder


def memories(story: StoryEncoder, question: BagEncoder) -> dict[str, object]:
    return {"story": story(STORY), "question": question(QUESTION)}


def test_position_encoding_is_that_of_the_paper() -> None:
    found = position_encoding(torch.tensor([2, 1]), 2, 4)
    for j, d in product((1, 2), (1, 2, 3, 4)):
        assert found[0, j - 1, d - 1] == pytest.approx((1 - j / 2) - (d / 4) * (1 - 2 * j / 2))
    assert found[1, 1].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("position", [True, False])
def test_sums_over_few_words_and_over_many_are_the_same(position: bool) -> None:
    small = BagEncoder(Embedding(8, SIZE), position=position)
    large = BagEncoder(Embedding(2000, SIZE), position=position)
    with torch.no_grad():
        large.embedding.weight[:8] = small.embedding.weight
    tokens = Tokens(torch.tensor([[4, 5, 4], [6, 0, 0]]), torch.tensor([3, 1]))
    torch.testing.assert_close(small(tokens).summary, large(tokens).summary)
    words = small.embedding.weight
    weights = position_encoding(tokens.lengths, 3, SIZE)[0] if position else torch.ones(3, SIZE)
    expected = weights[0] * words[4] + weights[1] * words[5] + weights[2] * words[4]
    torch.testing.assert_close(small(tokens).summary[0], expected)


def test_keys_and_values_have_their_own_words_and_ages() -> None:
    story, _, _ = made("softmax")
    memory = story(STORY)
    weights = position_encoding(torch.tensor([2]), 2, SIZE)[0]
    for table, found in ((0, memory.keys), (1, memory.values)):
        words = story.tables[table].embedding.weight
        second = weights[0] * words[5] + weights[1] * words[7] + story.ages[table, 1]  # one sentence follows
        assert found is not None
        torch.testing.assert_close(found[0, 1], second)
        oldest = story.tables[table](Tokens(IDS[0, :1], torch.tensor([3]))).summary[0] + story.ages[table, 1]
        torch.testing.assert_close(found[0, 0], oldest)  # two follow: the oldest known age is used
    assert memory.layout == "sentences"
    assert memory.mask.tolist() == [[True] * 3, [True, False, False]]
    assert not memory.values[1, 1:].any()


def test_hops_by_hand() -> None:
    story, question, decoder = made("softmax", read="sum")
    seen = memories(story, question)
    logits, looks = decoder(seen)
    keys, values = seen["story"].keys[0], seen["story"].values[0]
    state = seen["question"].summary[0]
    for hop in range(2):
        alpha = torch.softmax(keys @ state, 0)
        torch.testing.assert_close(looks.weights[0, hop], alpha)
        state = decoder.carry.weight @ state + alpha @ values
    torch.testing.assert_close(logits[0], decoder.output.weight @ state + decoder.output.bias)


def chain_scores(decoder: MemoryNetworkDecoder, query: Tensor, keys: Tensor) -> dict[tuple[int, ...], Tensor]:
    """score(z) of every choice of facts, by the formula."""
    asked = (decoder.queries.weight @ query).view(decoder.hops, -1)
    moves, scores = decoder.transitions, {}
    for choice in product(range(len(keys)), repeat=decoder.hops):
        total = sum(asked[k] @ keys[place] for k, place in enumerate(choice))
        for k, (i, j) in enumerate(pairwise(choice)):
            wanted = moves.first[k].weight @ keys[i] + moves.question[k].weight @ query
            distance = moves.distances[k, max(-1, min(1, j - i)) + 1]
            total = total + wanted @ (moves.second[k].weight @ keys[j] + distance)
        scores[choice] = total
    return scores


@pytest.mark.parametrize("hops", [2, 3])
def test_the_joint_choice_by_enumeration(hops: int) -> None:
    story, question, decoder = made("facts", hops=hops)
    seen = memories(story, question)
    logits, looks = decoder(seen, best=True)
    scores = chain_scores(decoder, seen["question"].summary[0], seen["story"].keys[0])
    likely = dict(zip(scores, torch.softmax(torch.stack(list(scores.values())), 0), strict=True))
    for hop, place in product(range(hops), range(3)):
        expected = sum(p for choice, p in likely.items() if choice[hop] == place)
        torch.testing.assert_close(looks.weights[0, hop, place], expected)
    assert tuple(looks.facts[0].tolist()) == max(likely, key=lambda choice: likely[choice].item())
    read = looks.weights[0, -1] @ seen["story"].values[0]
    torch.testing.assert_close(logits[0], decoder.output.weight @ read + decoder.output.bias)
    assert looks.weights[1, :, 0].tolist() == [1.0] * hops  # a story of one sentence


@pytest.mark.parametrize("tables", [1, 3])
def test_a_chain_that_adds_asks_for_each_fact_by_the_question_and_the_fact_before(tables: int) -> None:
    story, question, decoder = made("facts", tables, hops=3, carry="add", read="sum")
    seen = memories(story, question)
    _, looks = decoder(seen, best=True)
    query, distances = seen["question"].summary[0], decoder.following.distances
    keys, values = (
        [part[0]] * 3 if tables == 1 else part[0].chunk(3, -1)
        for part in (seen["story"].keys, seen["story"].values)
    )
    scores = {}
    for choice in product(range(3), repeat=3):
        total = sum(query @ keys[k][place] for k, place in enumerate(choice))
        for k, (i, j) in enumerate(pairwise(choice)):
            total = total + values[k][i] @ keys[k + 1][j] + distances[k, max(-1, min(1, j - i)) + 1]
        scores[choice] = total
    likely = dict(zip(scores, torch.softmax(torch.stack(list(scores.values())), 0), strict=True))
    for hop, place in product(range(3), range(3)):
        expected = sum(p for choice, p in likely.items() if choice[hop] == place)
        torch.testing.assert_close(looks.weights[0, hop, place], expected)
    assert tuple(looks.facts[0].tolist()) == max(likely, key=lambda choice: likely[choice].item())


def test_hops_that_add_have_no_matrix_to_learn() -> None:
    story, question, decoder = made("softmax", read="sum", carry="add")
    seen = memories(story, question)
    keys, values, state = seen["story"].keys[0], seen["story"].values[0], seen["question"].summary[0]
    for _ in range(2):
        state = state + torch.softmax(keys @ state, 0) @ values
    torch.testing.assert_close(decoder(seen)[0][0], decoder.output.weight @ state + decoder.output.bias)
    assert {name for name, _ in decoder.named_parameters()} == {"output.weight", "output.bias"}


@pytest.mark.parametrize("select", ["softmax", "facts"])
def test_only_the_last_sentences_are_looked_at_and_keep_their_places(select: str) -> None:
    """As if the story began later; the shorter story of the batch is kept whole."""
    story, question, decoder = made(select, read="sum")
    short = Sentences.padded(
        torch.cat([IDS[:1, 1:], torch.tensor([[[7, 4, 0], [0, 0, 0]]])]), torch.tensor([2, 1])
    )
    expected, wanted = decoder({"story": story(short), "question": question(QUESTION)}, best=True)
    story.last = 2
    logits, looks = decoder(memories(story, question), best=True)
    torch.testing.assert_close(logits, expected)
    torch.testing.assert_close(looks.weights[0, :, 1:], wanted.weights[0])
    torch.testing.assert_close(looks.weights[1, :, :2], wanted.weights[1])
    assert not looks.weights[0, :, 0].any()
    assert looks.facts.tolist() == [[fact + 1 for fact in wanted.facts[0].tolist()], [0, 0]]


@pytest.mark.parametrize("select", ["softmax", "facts"])
@pytest.mark.parametrize("read", ["last", "sum", "all"])
def test_padding_changes_nothing_and_gradients_reach_everything(select: str, read: str) -> None:
    story, question, decoder = made(select, read=read, hops=3)
    seen = memories(story, question)
    together = decoder(seen)[0]
    one = Sentences.padded(IDS[1:, :1, :2], torch.tensor([1]))
    asked = question(Tokens(torch.tensor([[4]]), torch.tensor([1])))
    alone = decoder({"story": story(one), "question": asked})[0]
    torch.testing.assert_close(together[1:], alone)
    decoder.loss(seen, TARGET).total.backward()
    unused = {"carry.weight"} if read == "last" and select == "softmax" else set()
    missing = [name for name, weight in decoder.named_parameters() if weight.grad is None]
    assert set(missing) <= unused
    assert all(weight.grad is not None for weight in (*story.parameters(), *question.parameters()))


def test_adjacent_tables_find_by_the_values_of_the_hop_before() -> None:
    story, question, decoder = made("softmax", tables=2, read="sum")
    memory = story(STORY)
    assert memory.keys is not None
    torch.testing.assert_close(memory.keys[..., SIZE:], memory.values[..., :SIZE])
    state = question(QUESTION).summary[0]
    looks = decoder({"story": memory, "question": question(QUESTION)})[1]
    first = torch.softmax(memory.keys[0, :, :SIZE] @ state, 0)
    state = decoder.carry.weight @ state + first @ memory.values[0, :, :SIZE]
    torch.testing.assert_close(looks.weights[0, 1], torch.softmax(memory.keys[0, :, SIZE:] @ state, 0))


def test_the_guide_is_the_likelihood_of_the_true_facts() -> None:
    story, question, decoder = made("facts", guide=0.5, hops=3)
    seen = memories(story, question)
    truth = {"story": Tokens(torch.tensor([[2, 1], [0, 0]]), torch.tensor([2, 0]))}
    loss = decoder.loss(seen, TARGET, truth=truth)
    looks = decoder(seen)[1].weights[0]
    expected = -(looks[0, 2].log() + looks[1, 1].log() + looks[2, 1].log())
    torch.testing.assert_close(loss.parts["guide"], expected.detach())
    torch.testing.assert_close(loss.total.detach(), loss.parts["likelihood"] + 0.5 * expected.detach())


def test_the_question_says_how_many_facts_it_needs() -> None:
    story, question, decoder = made("facts", hops=3, fewer=True)
    decoder.eval()
    whole, short = made("facts", hops=3)[2], made("facts", hops=2)[2]
    with torch.no_grad():
        for parts in ("first", "second", "question"):
            for k in range(2):
                mine = getattr(decoder.transitions, parts)[k].weight
                getattr(whole.transitions, parts)[k].weight.copy_(mine)
                if k == 1:
                    getattr(short.transitions, parts)[0].weight.copy_(mine)
        whole.transitions.distances.copy_(decoder.transitions.distances)
        short.transitions.distances.copy_(decoder.transitions.distances[1:])
        whole.queries.weight.copy_(decoder.queries.weight)
        short.queries.weight.copy_(decoder.queries.weight[SIZE:])
    seen = memories(story, question)
    of_three, of_two = (one(seen, best=True) for one in (whole, short))
    with torch.no_grad():
        decoder.costs.weight.zero_()
        for expensive, (logits, looks) in ((0, of_three), (1, of_two)):
            # An additional fact costs hop_cost, 0.2: two facts are chosen unless three are better by more
            # than that.
            decoder.costs.bias.copy_(torch.tensor([0.3, 0.0]) if expensive == 0 else torch.tensor([0.1, 0.0]))
            found, mine = decoder(seen, best=True)
            assert mine.facts[0].tolist() == [-1] * expensive + looks.facts[0].tolist()
            torch.testing.assert_close(mine.weights[:, expensive:], looks.weights)
            assert not mine.weights[:, :expensive].any()
            decoder.output.load_state_dict((whole if expensive == 0 else short).output.state_dict())
            torch.testing.assert_close(decoder(seen)[0], logits)
            assert found.shape == logits.shape


def test_every_number_of_facts_learns_and_the_question_learns_what_each_costs() -> None:
    story, question, decoder = made("facts", hops=3, fewer=True, hop_cost=0.0)
    seen = memories(story, question)
    expected = decoder.costs(seen["question"].summary)
    costs = []
    for taken in ([-9.0, 0.0], [0.0, -9.0]):
        weight, bias = decoder.costs.weight.clone(), decoder.costs.bias.clone()
        with torch.no_grad():
            decoder.costs.weight.zero_()
            decoder.costs.bias.copy_(torch.tensor(taken))
            costs.append(torch.nn.functional.cross_entropy(decoder(seen)[0], TARGET, reduction="none"))
            decoder.costs.weight.copy_(weight)
            decoder.costs.bias.copy_(bias)
    both = torch.stack(costs, 1)  # (B, 2) of two and of three facts
    loss = decoder.loss(seen, TARGET)
    misjudged = (expected - both).square().sum()
    torch.testing.assert_close(loss.total, both.mean(1).sum() + misjudged)
    taken = both.gather(1, expected.argmin(-1, keepdim=True)).sum()
    torch.testing.assert_close(loss.parts["likelihood"], taken.detach())


def test_an_expected_cost_of_nan_reaches_the_loss_and_the_answer() -> None:
    story, question, decoder = made("facts", hops=3, fewer=True)
    seen = memories(story, question)
    with torch.no_grad():
        decoder.costs.bias[1] = torch.nan
        loss = decoder.loss(seen, TARGET)
        assert loss.total.isnan() and loss.parts["likelihood"].isnan()
        assert decoder.predict(seen).scores.isnan().all()


def test_consecutive_facts_are_different_where_staying_is_not_allowed() -> None:
    story, question, decoder = made("facts", hops=2, stay=False)
    looks = decoder(memories(story, question), best=True)[1]
    assert looks.facts[0, 0] != looks.facts[0, 1]
    assert looks.facts[1].tolist() == [0, 0]  # with one sentence there is no alternative


def test_linear_start_is_scores_without_softmax_for_so_many_updates() -> None:
    story, question, decoder = made("softmax", linear_start=1, read="sum")
    seen = memories(story, question)
    first = decoder(seen)[1].weights[0, 0]
    torch.testing.assert_close(first, seen["story"].keys[0] @ seen["question"].summary[0])
    decoder.loss(seen, TARGET)
    torch.testing.assert_close(decoder(seen)[1].weights[0].sum(-1), torch.ones(2))


def test_answers_that_are_words_are_found_by_what_is_read_of_them() -> None:
    """Rooms are words of the stories; "nowhere" is not, and has its own vector."""
    spec = Spec.parse(
        {
            "inputs": {"story": {"type": "story"}, "question": {"type": "text", "shared": "story"}},
            "outputs": {"answer": {"type": "label"}},
            "encoder": {
                "story": {"type": "story", "embedding": 6},
                "question": {"type": "bag", "embedding": 6, "like": "story"},
            },
            "decoder": {"type": "memory-network", "hops": 2, "read": "sum", "tie": True},
            "data": {"train": "rooms.tsv"},
        }
    )
    columns = make_columns(spec)
    columns["story"].learn(["Mary is in the kitchen. John is in the garden."])
    columns["question"].learn(["where is Mary"])
    columns["answer"].learn(["garden", "kitchen", "nowhere", "the kitchen"])
    network = build_network(spec, columns)
    decoder, table = network.decoders["answer"], network.encoders["story"].tables[-1].embedding.weight
    vectors = decoder.output.weight
    for answer, word in ((0, "garden"), (1, "kitchen")):
        torch.testing.assert_close(vectors[answer], table[columns["story"].words.encode(word).item()])
    torch.testing.assert_close(vectors[2:], decoder.output.own)
    read = torch.randn(3, 6)
    torch.testing.assert_close(decoder.output(read), read @ vectors.T + decoder.output.bias)
    vectors.sum().backward()
    assert set(table.grad.any(-1).nonzero()[:, 0].tolist()) == {
        columns["story"].words.encode(word).item() for word in ("garden", "kitchen")
    }


def test_time_noise_makes_sentences_older_in_training_alone() -> None:
    story = StoryEncoder([bag(), bag()], ages=9, time_noise=0.999999)
    torch.nn.init.normal_(story.ages)
    noisy = story(STORY)
    calm = story.eval()(STORY)
    torch.testing.assert_close(noisy.keys[0, 2] - calm.keys[0, 2], story.ages[0, 1] - story.ages[0, 0])
    torch.testing.assert_close(noisy.keys[0, 0] - calm.keys[0, 0], story.ages[0, 5] - story.ages[0, 2])


def test_what_cannot_be_chosen_is_refused() -> None:
    with pytest.raises(RegardError, match="scores of consecutive choices"):
        Facts()(torch.zeros(1, 2, 3), torch.ones(1, 3, dtype=torch.bool))
    weights = Facts()(
        torch.zeros(1, 2, 3),
        torch.tensor([[True, True, False]]),
        Given(transitions=torch.zeros(1, 1, 3, 3)),
    )
    torch.testing.assert_close(weights, torch.tensor([[[0.5, 0.5, 0.0]] * 2]))


def beginning(
    *, words: bool, times: str, size: int = 64
) -> tuple[StoryEncoder, BagEncoder, MemoryNetworkDecoder]:
    """Three untrained softmax hops; words are ids from 4."""
    torch.manual_seed(3)
    tables = [Embedding(40, size) for _ in range(2)]
    if words:
        begin_with_words([table.weight for table in tables])
    story = StoryEncoder([BagEncoder(table, position=False) for table in tables], ages=20, times=times)
    attention = Attention(size, size, score="dot")
    decoder = MemoryNetworkDecoder(
        3, attention, story="story", question="question", hops=3, read="sum", carry="beyond"
    )
    return story, BagEncoder(tables[0], position=False), decoder


def looked_at(
    made: tuple[StoryEncoder, BagEncoder, MemoryNetworkDecoder], lines: list[list[int]], asked: int
) -> Tensor:
    """(K, S) attention weights of the hops."""
    story, question, decoder = made
    seen = {
        "story": story(Sentences.padded(torch.tensor([lines]), torch.tensor([len(lines)]))),
        "question": question(Tokens(torch.tensor([[asked]]), torch.tensor([1]))),
    }
    weights: Tensor = decoder(seen)[1].weights[0].detach()
    return weights


def test_hops_begin_by_following_words_in_common() -> None:
    """Greg is a swan; Lily is a swan; Lily is gray. Asked about Greg, the third hop reaches gray."""
    greg, lily, anna, swan, lion, gray, white, bert = range(4, 12)
    lines = [[anna, lion], [lily, swan], [bert, lion], [greg, swan], [anna, white], [lily, gray]]
    weights = looked_at(beginning(words=True, times="random"), lines, greg)
    assert weights[0].argmax() == 3
    assert set(weights[1].topk(2).indices.tolist()) == {1, 3}
    assert weights[2, 5] > 0.2 and weights[2, [0, 2, 4]].max() < 0.01
    assert looked_at(beginning(words=False, times="random"), lines, greg).max() < 0.5


def test_hops_begin_by_going_on_to_the_next_sentence() -> None:
    lines = [[20 + line, 30] for line in range(8)]
    weights = looked_at(beginning(words=True, times="next"), lines, 22)
    assert weights.argmax(-1).tolist()[:2] == [2, 3] and weights[1, 3] > 0.5
