"""The words of the translation world: English and romanized Hindi.

The words are Hindi in a simple spelling (no diacritics), but the grammar is made up: see `transfer.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Gender = Literal["m", "f"]


@dataclass(frozen=True)
class Noun:
    """english, its plural; target form in the direct singular; gender; kind: determines the verbs it can be object
    of."""

    english: str
    plural: str
    target: str
    gender: Gender
    kind: str


@dataclass(frozen=True)
class Adjective:
    """Target form in the masculine singular; one that ends in -a agrees, others do not change."""

    english: str
    target: str


@dataclass(frozen=True)
class Verb:
    """English base, third person, participle, past; target stem.

    objects  kinds of nouns it takes; empty for an intransitive verb
    light    a verb "kar" (do) after the stem carries the endings: help → madad kar
    motion   it may take "home"
    """

    base: str
    third: str
    participle: str
    past: str
    stem: str
    objects: tuple[str, ...] = ()
    light: bool = False
    motion: bool = False


@dataclass(frozen=True)
class Pronoun:
    """english, as object; target, as object; person, number and gender that the verb agrees with."""

    english: str
    object: str
    target: str
    target_object: str
    person: int
    plural: bool
    gender: Gender


@dataclass(frozen=True)
class Determiner:
    """number: both, singular or plural; target: "" if it is dropped; -a agrees like an adjective."""

    english: str
    target: str
    number: str


def _entries(table: str) -> list[list[str]]:
    return [
        entry.split() for line in table.strip().splitlines() for entry in line.strip().strip(",").split(",")
    ]


def _nouns(kind: str, table: str) -> list[Noun]:
    """Entries "english target gender", or "english/plural target gender" if the plural does not end in -s."""
    nouns = []
    for english, target, gender in _entries(table):
        singular, _, plural = english.partition("/")
        nouns.append(Noun(singular, plural or singular + "s", target, "m" if gender == "m" else "f", kind))
    return nouns


_PEOPLE = """
    man/men aadmi m, woman/women aurat f, boy larka m, girl larki f, child/children bachcha m, teacher adhyapak m,
    student chhatra m, doctor doktar m, farmer kisan m, king raja m, queen rani f, friend dost m, sister bahan f,
    brother bhai m, soldier sipahi m, poet kavi m, neighbour parosi m, son beta m, daughter beti f,
    thief/thieves chor m, guest mehman m, merchant vyapari m, gardener mali m, grandmother dadi f
"""
_ANIMALS = """
    dog kutta m, cat billi f, horse ghora m, cow gay f, fish/fishes machhli f, elephant hathi m, monkey bandar m,
    lion sher m, goat bakri f, mouse/mice chuha m, camel oont m, rabbit khargosh m
"""
_FOOD = """
    apple seb m, mango/mangoes aam m, banana kela m, egg anda m, fruit phal m, orange santara m, onion pyaz m,
    carrot gajar f, tomato/tomatoes tamatar m, biscuit biskut m
"""
_OBJECTS = """
    book kitab f, letter chitthi f, pen kalam m, door darvaza m, window khirki f, table mez f, chair kursi f,
    bag thaila m, flower phool m, clock ghari f, picture tasvir f, boat naav f, ball gend f, hat topi f, shirt kamiz f,
    shoe joota m, key chabi f, box/boxes dibba m, mirror shisha m, newspaper akhbar m, car gari f, rope rassi f,
    drum dhol m
"""
_PLACES = """
    house makan m, city/cities shahar m, garden bagicha m, room kamra m, river nadi f, forest jangal m, school skool m,
    market bazar m, road sarak f, field khet m, temple mandir m, shop dukan f, bridge pul m, mountain pahar m,
    palace mahal m, lake jhil f, office daftar m, hospital aspatal m
"""
NOUNS = (
    *_nouns("person", _PEOPLE),
    *_nouns("animal", _ANIMALS),
    *_nouns("food", _FOOD),
    *_nouns("thing", _OBJECTS),
    *_nouns("place", _PLACES),
)

_QUALITIES = """
    big bada, small chhota, good achchha, bad bura, old purana, new naya, black kala, yellow pila, green hara,
    blue nila, long lamba, thin patla, fat mota, cold thanda, dirty ganda, wet gila, dry sukha, tall ooncha,
    hungry bhookha, tired thaka, red laal, white safed, beautiful sundar, happy khush, sad udas, rich amir, poor garib,
    brave bahadur, clever chalak, heavy bhari, strange ajib, strong mazboot, famous prasiddh, clean saaf
"""
ADJECTIVES = tuple(Adjective(english, target) for english, target in _entries(_QUALITIES))

_THINGS = ("thing", "food")
_ALL = ("person", "animal", "food", "thing", "place")
_LIVING = ("person", "animal")
VERBS = (
    Verb("see", "sees", "seeing", "saw", "dekh", _ALL),
    Verb("write", "writes", "writing", "wrote", "likh", ("thing",)),
    Verb("eat", "eats", "eating", "ate", "kha", ("food",)),
    Verb("buy", "buys", "buying", "bought", "kharid", _THINGS),
    Verb("sell", "sells", "selling", "sold", "bech", _THINGS),
    Verb("find", "finds", "finding", "found", "dhoondh", _ALL),
    Verb("take", "takes", "taking", "took", "le", _THINGS),
    Verb("bring", "brings", "bringing", "brought", "la", ("thing", "food", "animal")),
    Verb("hear", "hears", "hearing", "heard", "sun", _LIVING),
    Verb("make", "makes", "making", "made", "bana", ("thing",)),
    Verb("break", "breaks", "breaking", "broke", "tor", ("thing",)),
    Verb("wash", "washes", "washing", "washed", "dho", ("thing", "food", "animal")),
    Verb("throw", "throws", "throwing", "threw", "phenk", _THINGS),
    Verb("choose", "chooses", "choosing", "chose", "chun", ("food", "thing", "place")),
    Verb("catch", "catches", "catching", "caught", "pakar", ("animal", "thing", "person")),
    Verb("call", "calls", "calling", "called", "bula", _LIVING),
    Verb("clean", "cleans", "cleaning", "cleaned", "saaf", ("thing", "place"), light=True),
    Verb("help", "helps", "helping", "helped", "madad", _LIVING, light=True),
    Verb("like", "likes", "liking", "liked", "pasand", _ALL, light=True),
    Verb("remember", "remembers", "remembering", "remembered", "yaad", _ALL, light=True),
    Verb("go", "goes", "going", "went", "ja", motion=True),
    Verb("come", "comes", "coming", "came", "aa", motion=True),
    Verb("sleep", "sleeps", "sleeping", "slept", "so"),
    Verb("run", "runs", "running", "ran", "daur", motion=True),
    Verb("laugh", "laughs", "laughing", "laughed", "hans"),
    Verb("cry", "cries", "crying", "cried", "ro"),
    Verb("dance", "dances", "dancing", "danced", "nach"),
    Verb("walk", "walks", "walking", "walked", "chal", motion=True),
    Verb("speak", "speaks", "speaking", "spoke", "bol"),
    Verb("sit", "sits", "sitting", "sat", "baith"),
    Verb("play", "plays", "playing", "played", "khel"),
    Verb("fall", "falls", "falling", "fell", "gir"),
    Verb("work", "works", "working", "worked", "kaam", light=True),
    Verb("rise", "rises", "rising", "rose", "uth"),
)

PRONOUNS = (
    Pronoun("I", "me", "main", "mujhe", 1, False, "m"),
    Pronoun("you", "you", "aap", "aapko", 2, True, "m"),
    Pronoun("he", "him", "vah", "use", 3, False, "m"),
    Pronoun("she", "her", "vah", "use", 3, False, "f"),
    Pronoun("we", "us", "ham", "hamein", 1, True, "m"),
    Pronoun("they", "them", "ve", "unhein", 3, True, "m"),
)

DETERMINERS = (
    Determiner("the", "", "both"),
    Determiner("a", "ek", "singular"),
    Determiner("my", "mera", "both"),
    Determiner("your", "aapka", "both"),
    Determiner("his", "uska", "both"),
    Determiner("her", "uska", "both"),
    Determiner("our", "hamara", "both"),
    Determiner("their", "unka", "both"),
    Determiner("this", "yah", "singular"),
    Determiner("these", "ye", "plural"),
    Determiner("every", "har", "singular"),
    Determiner("many", "kai", "plural"),
    Determiner("some", "kuchh", "plural"),
    Determiner("two", "do", "plural"),
    Determiner("three", "teen", "plural"),
    Determiner("four", "char", "plural"),
    Determiner("five", "panch", "plural"),
)

PREPOSITIONS = {
    "in": "mein",
    "on": "par",
    "from": "se",
    "with": "ke saath",
    "near": "ke paas",
    "behind": "ke peeche",
    "under": "ke neeche",
    "without": "ke bina",
}
HOME = {"home": "ghar"}
ADVERBS = {
    "here": "yahan",
    "there": "vahan",
    "today": "aaj",
    "now": "ab",
    "again": "phir",
    "often": "aksar",
    "slowly": "dheere",
    "quickly": "jaldi",
    "quietly": "chupchap",
}
CONJUNCTIONS = {"and": "aur", "but": "lekin", "because": "kyonki", "so": "isliye", "when": "jab", "or": "ya"}
