"""Correct answers to the exercises, as a student would write them."""

from __future__ import annotations

SUMMING = """
SUM = {"W": 1, "U": 1, "b": 0, "V": 1, "c": 0}
COMPARE = {"W": [2, -2], "U": 1, "b": 0, "V": 0.5, "c": 0}
"""
CAROUSEL = """
import numpy as np

def memory_gradient(c_t, o_t, h_bar_t, f_next, c_bar_next):
    return h_bar_t * o_t * (1 - np.tanh(c_t) ** 2) + f_next * c_bar_next

def gates():
    return 1, 0, 0
"""
DECODER = """
import numpy as np

def shapes(D, N, E, V):
    return {"W": (N, N), "U": (N, E), "b": (N,), "V": (V, N), "c": (V,), "R": (V, D), "G": (N, D), "S": (N, D)}

def first(image, p):
    return FIRST

def step(state, word, image, p):
    return np.tanh(STEP)

def write(state, image, p):
    return WRITE
"""
PLAIN = {
    "FIRST": "np.zeros(5)",
    "STEP": "p['W'] @ state + p['U'] @ word + p['b']",
    "WRITE": "p['V'] @ state + p['c']",
}


def decoder(**changes: str) -> str:
    """The plain decoder with some of its expressions replaced."""
    text = DECODER
    for name, expression in {**PLAIN, **changes}.items():
        text = text.replace(f"return {name}", f"return {expression}").replace(f"({name})", f"({expression})")
    return text


MERGE = decoder(WRITE="p['V'] @ state + p['R'] @ image + p['c']")
GATING = decoder(
    STEP="p['W'] @ (state / (1 + np.exp(-p['G'] @ image))) + p['U'] @ word + p['b']", FIRST="np.ones(5) / 2"
)
START = decoder(FIRST="np.tanh(p['S'] @ image)")
EVERY_STEP = decoder(STEP="p['W'] @ state + p['U'] @ word + p['G'] @ image + p['b']")
ATTENTION = """
import numpy as np

def weights(s, h, mask, U, W, v):
    e = np.tanh(h @ W.T + U @ s) @ v
    e = np.where(mask, e, -np.inf)
    a = np.exp(e - e.max())
    return a / a.sum()

def context(alpha, h):
    return alpha @ h

def new_parameters(D):
    return 2 * D * D + D
"""
MISTAKES = """
def first(a, b):
    return sum((a // 10**k + b // 10**k) % 10 * 10**k for k in range(4))

def second(a, b):
    return (a + b) // 100 * 100 + b % 100

def third(a, b):
    answer, carry = 0, 0
    for k in range(4):
        digits = a // 10**k % 10 + b // 10**k % 10
        answer += (digits + carry) % 10 * 10**k
        carry = 1 if digits > 9 else 0
    return answer + carry * 10**4
"""
RIGHT = {
    "summing": SUMMING,
    "carousel": CAROUSEL,
    "condition": MERGE,
    "attention": ATTENTION,
    "mistakes": MISTAKES,
}
