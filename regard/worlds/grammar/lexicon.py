"""The words of the grammar world: nouns by kind, verbs by frame, and function words.

Many are ambiguous in tag: a walk and to walk, the cooks and she cooks, a saw and she saw, a can and you can, some dogs
and some slept, like, after, her, has, that, to, light.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EnglishNoun:
    """kind: the semantic class; `looks` in addition for representations (a picture of, a book about)."""

    singular: str
    plural: str
    kind: frozenset[str]


@dataclass(frozen=True)
class EnglishVerb:
    """frame: the complements; objects: kinds of nouns it takes; traits: kinds of phrases that can modify it."""

    base: str
    third: str
    past: str
    participle: str
    progressive: str
    frame: str
    objects: tuple[str, ...] = ()
    traits: frozenset[str] = frozenset()
    particle: str = ""


def _plural(word: str) -> str:
    """The regular plural of a noun, or the third person of a verb."""
    if word == "have":
        return "has"
    if word.endswith(("s", "x", "ch", "sh", "o")):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeiou" else word + "s"


def _nouns(kinds: str, entries: str) -> list[EnglishNoun]:
    """Entries `mouse/mice`, or the singular alone if the plural is regular."""
    found = []
    for entry in entries.split():
        singular, _, plural = entry.partition("/")
        found.append(EnglishNoun(singular, plural or _plural(singular), frozenset(kinds.split())))
    return found


_DOUBLED = frozenset(
    {"run", "hit", "cut", "put", "sit", "drop", "chop", "hug", "swim", "begin", "plan", "ship"}
)


def _verb(entry: str, frame: str, objects: str, traits: str) -> EnglishVerb:
    """An entry `base/past/participle+particle`; past and participle are given only if irregular or different."""
    forms, _, particle = entry.partition("+")
    base, *irregular = forms.split("/")
    stem = base + base[-1] if base in _DOUBLED else base
    silent = base.endswith("e") and not base.endswith("ee")
    regular = base[:-1] + "ied" if _plural(base).endswith("ies") else (base + "d" if silent else stem + "ed")
    past, participle = (*irregular, *irregular[-1:], regular, regular)[:2]
    return EnglishVerb(
        base,
        _plural(base),
        past,
        participle,
        (base[:-1] if silent else stem) + "ing",
        frame,
        tuple(objects.split()),
        frozenset(traits.split()),
        particle,
    )


NOUNS = (
    *_nouns("person", """man/men woman/women boy girl king queen teacher doctor farmer guard judge cook sailor
        child/children friend soldier painter thief/thieves baker nurse"""),
    *_nouns("animal", "dog cat horse bird fish/fish duck cow fox mouse/mice fly wolf/wolves sheep/sheep"),
    *_nouns("thing", "key coin cup lamp stone ball plate watch ring basket candle plant light drop"),
    *_nouns("thing shows", "book letter picture song story map"),
    *_nouns("food", "apple cake egg pie onion loaf/loaves"),
    *_nouns("tool", "hammer saw axe knife/knives brush spoon"),
    *_nouns("optical", "telescope mirror lens camera"),
    *_nouns("clothing", "hat coat scarf/scarves shirt glove mask"),
    *_nouns("feature", "tail horn wing beak spot paw"),
    *_nouns("place", "garden forest village city river field market island park"),
    *_nouns("place building", "house tower castle church school farm place"),
    *_nouns("container", "box can drawer bag chest jar"),
    *_nouns("furniture", "table shelf/shelves bench desk chair"),
    *_nouns("event", """storm war feast dance walk race play fight run sail laugh smile
        work study show"""),
)  # fmt: skip

_SMALL = "thing food tool optical clothing"
_FRAMES = (
    # frame, kinds of object, traits, verbs
    ("transitive", "person animal thing building", "look located", "see/saw/seen watch study paint draw/drew/drawn"),
    ("transitive", "thing food furniture", "manual located", "hit/hit break/broke/broken fix cut/cut chop clean box"),
    ("transitive", "thing furniture", "manual located", "hammer brush"),
    ("transitive", "person animal", "located", "chase follow hug fear love guard help judge"),
    ("transitive", "person animal thing", "located", "nurse like fight/fought have/had"),
    ("transitive", _SMALL, "source benefit located", "find/found lose/lost buy/bought sell/sold hold/held"),
    ("transitive", "thing", "benefit located", "book plant"),
    ("transitive", "food", "company benefit located", "eat/ate/eaten cook bake"),
    ("transitive", "building furniture", "manual benefit", "build/built plan light/lit"),
    ("transitive", "shows", "benefit located", "read/read write/wrote/written"),
    ("intransitive", "", "company located", "sleep/slept laugh sing/sang/sung dance play walk wait work"),
    ("intransitive", "", "company located", "sit/sat smile fish duck farm"),
    ("intransitive", "", "motion source company", "run/ran/run sail race swim/swam/swum go/went/gone"),
    ("intransitive", "", "motion source company", "come/came/come fly/flew/flown"),
    ("ditransitive", _SMALL, "", "give/gave/given send/sent show/showed/shown offer hand ship"),
    ("locating", _SMALL, "", "put/put place drop hide/hid/hidden leave/left"),
    ("clausal", "", "", "say/said think/thought know/knew/known hope believe"),
    ("controlling", "", "", "want try begin/began/begun refuse"),
    ("particle", _SMALL, "located", "pick+up throw/threw/thrown+out take/took/taken+down"),
    ("telling", "person", "topic", "tell/told teach/taught warn"),
)  # fmt: skip
VERBS = tuple(
    _verb(entry, frame, objects, traits)
    for frame, objects, traits, entries in _FRAMES
    for entry in entries.split()
)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES = _words("Anna Boris Clara David Emma Felix Greta Henry Irene Jonas Laura Mark Will Rose Grace")
ADJECTIVES = _words(
    """old young big small red blue light cold warm clever happy sad kind brave tired quiet rich poor strange famous
    green heavy empty clean"""
)
EARLY_ADVERBS = _words("never often quickly slowly quietly")
LATE_ADVERBS = _words("quickly slowly quietly now again today here")
DIRECTIONS = ("up", "out", "down")
DEGREES = ("very", "too", "quite")
NUMBERS = ("two", "three", "four", "seven")
SINGULAR_DETERMINERS = ("the", "the", "the", "a", "a", "this", "that", "every")
PLURAL_DETERMINERS = ("the", "the", "these", "some", "many", "all")
POSSESSIVES = ("her", "his", "their", "my")
SUBJECTS = {"he": False, "she": False, "they": True, "we": True, "you": True, "I": True}
OBJECTS = ("him", "her", "them", "us", "you", "me")
PRONOMINAL = {"all": True, "some": True, "many": True, "these": True, "this": False, "that": False}
SUBORDINATORS = ("because", "when", "if", "after", "before", "since")

LICENSES: dict[tuple[str, str], frozenset[str]] = {
    ("with", "tool"): frozenset({"manual"}),
    ("with", "optical"): frozenset({"look"}),
    ("with", "clothing"): frozenset({"person"}),
    ("with", "feature"): frozenset({"animal"}),
    ("with", "person"): frozenset({"company"}),
    ("in", "clothing"): frozenset({"person"}),
    ("in", "container"): frozenset({"thing", "food", "tool", "clothing", "optical"}),
    ("in", "place"): frozenset({"located"}),
    ("near", "place"): frozenset({"building"}),
    ("on", "furniture"): frozenset({"thing", "food", "tool", "clothing", "optical"}),
    ("from", "place"): frozenset({"person", "animal", "source"}),
    ("of", "person"): frozenset({"shows", "clothing"}),
    ("of", "place"): frozenset({"shows"}),
    ("about", "event"): frozenset({"shows", "topic"}),
    ("about", "animal"): frozenset({"shows", "topic"}),
    ("to", "place"): frozenset({"motion"}),
    ("for", "person"): frozenset({"benefit"}),
    ("down", "place"): frozenset({"motion"}),
    ("like", "animal"): frozenset({"company"}),
    ("after", "event"): frozenset({"located", "motion"}),
    ("before", "event"): frozenset({"located", "motion"}),
    ("since", "event"): frozenset({"located"}),
    ("during", "event"): frozenset({"located", "motion"}),
}
"""(preposition, kind of its noun) → the kinds of nouns and traits of verbs to which such a phrase can attach.

A phrase attaches to the nearest word on the right edge that licenses it, so the words decide. In "painted the man with
a telescope" it is the verb, in "painted the man with a hat" the noun; in "the man from the city" it is the noun, in
"bought a lamp from the city" the verb.
"""
