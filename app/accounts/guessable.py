"""Detects passwords that attackers try first, without any network request.

Leaked passwords are repetitive: a few hundred words, names and keyboard patterns, once, twice or
joined, surrounded by digits and signs, with some letters replaced by similar characters. A password
is refused if it contains nothing else.
"""

import re
from pathlib import Path

# Letters that people replace by digits and signs.
LOOKS_LIKE = str.maketrans("013457@$!", "oleastasi")
ROWS = (
    "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm",
    "wxcvbn", "1234567890", "abcdefghijklmnopqrstuvwxyz", "йцукенгшщзхъ",
    "1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm", "zaq1", "xsw2", "cde3", "vfr4",
    "qaz", "wsx", "edc", "rfv", "tgb", "yhn", "ujm", "1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6",
    "a1b2c3d4e5f6", "1a2b3c4d5e6f", "qweasdzxc", "asdzxc", "qazwsxedcrfvtgb",
)  # fmt: skip
SHORTEST_WALK = 3
LONG_NUMBER = 16
PHRASE_WORDS = 4
# A password with at most this many other letters is still guessable.
MOST_LEFT = 2
WORDS = frozenset((Path(__file__).parent / "guessable_words.txt").read_text().split())


def is_guessable(password: str, further: tuple[str, ...] = ()) -> bool:
    """Tell whether a password contains nothing but what attackers try first.

    further: words connected with its owner and this site
    """
    plain = password.lower()
    if plain.isdigit() and len(plain) < LONG_NUMBER:
        return True
    if len(plain.split()) >= PHRASE_WORDS:
        # Four random common words are a good password.
        return False
    words = WORDS | {word.lower() for word in further}
    return any(_left(text, words) <= MOST_LEFT for text in {plain, plain.translate(LOOKS_LIKE)})


def _left(text: str, words: frozenset[str]) -> int:
    """Return the minimum number of letters left after removing words, patterns and repetitions.
    Digits and signs do not count in groups no longer than a year."""
    best = [0] * (len(text) + 1)
    longest = max(map(len, words))
    for end in range(1, len(text) + 1):
        best[end] = best[end - 1] + (0 if _is_filler(text, end) else 1)
        for begin in range(max(0, end - longest), end):
            part = text[begin:end]
            if part in words or _is_walk(part):
                best[end] = min(best[end], best[begin])
        for begin in _repeats(text, end):
            best[end] = min(best[end], best[begin])
    return best[len(text)]


def _is_filler(text: str, end: int) -> bool:
    """Tell whether the character before `end` is a sign, or a digit among at most four in a row."""
    letter = text[end - 1]
    if not letter.isalnum():
        return True
    if not letter.isdigit():
        return False
    run = re.search(r"\d*$", text[:end])
    after = re.match(r"\d*", text[end:])
    assert run is not None
    assert after is not None
    return len(run.group()) + len(after.group()) <= 4


def _is_walk(part: str) -> bool:
    """Tell whether a part is a run of neighbours on a keyboard or in the alphabet, forwards or
    backwards, or one repeated character."""
    if len(part) < SHORTEST_WALK:
        return False
    return len(set(part)) == 1 or any(part in row or part[::-1] in row for row in ROWS)


def _repeats(text: str, end: int) -> list[int]:
    """Find where text begins that repeats the text right before it."""
    return [
        begin
        for begin in range(end // 2, end)
        if end - begin >= 2 and text[begin:end] == text[2 * begin - end : begin]
    ]
