"""The six programs of a lecture on recurrent networks (CSC413, lecture 7; after Zaremba and Sutskever 2014),
with Python's output.

The lecture gives 25011 for the first program, which as indented prints eight lines, and 1218 for the second,
which prints 12184.
"""

from __future__ import annotations

PROGRAMS: dict[str, list[str]] = {
    "j=8584\nfor x in range(8):\n    j+=920\n    b=(1500+j)\n    print((b+7567))": [
        "18571", "19491", "20411", "21331", "22251", "23171", "24091", "25011",
    ],
    "i=8827\nc=(i-5347)\nprint((c+8704) if 2641<8500 else\n      5308)": ["12184"],
    "print(6652)": ["6652"],
    "d=5446\nfor x in range(8):d+=(2678 if 4803<2829 else 9848)\nprint((d if 5935<4845 else 3043))": ["3043"],
    "print((5997-738))": ["5259"],
    "print(((1090-3305)+9466))": ["7251"],
}  # fmt: skip
"""Program → the lines it prints."""
