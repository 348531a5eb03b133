"""English sentences with their tags and dependency trees, including typical ambiguities of English."""

from regard.worlds.grammar.grammar import Grammar
from regard.worlds.grammar.sentence import Node, ParsedSentence
from regard.worlds.grammar.world import GrammarWorld

__all__ = ["Grammar", "GrammarWorld", "Node", "ParsedSentence"]
