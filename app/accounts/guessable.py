"""Passwords that are tried first, refused offline.

Lists of leaked passwords repeat themselves: a few hundred words, names and walks over the keyboard,
once, twice or joined, with figures and signs around and letters that look like others. A password
is refused when nothing else is left of it.
"""

import re
from pathlib import Path

# Letters for which people put figures and signs.
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
# What may be left beside words and walks and is still no secret.
MOST_LEFT = 2
WORDS = frozenset((Path(__file__).parent / "guessable_words.txt").read_text().split())


def is_guessable(password: str, further: tuple[str, ...] = ()) -> bool:
    """Whether nothing is left of a password but what is tried first.

    further: words that are known of its owner and of this place
    """
    plain = password.lower()
    if plain.isdigit() and len(plain) < LONG_NUMBER:
        return True
    if len(plain.split()) >= PHRASE_WORDS:
        # Four common words, chosen by chance, are a good password.
        return False
    words = WORDS | {word.lower() for word in further}
    return any(_left(text, words) <= MOST_LEFT for text in {plain, plain.translate(LOOKS_LIKE)})


def _left(text: str, words: frozenset[str]) -> int:
    """How many letters are left over, at best, when words, walks and repeated text are taken out;
    figures and signs count for nothing as far as they stand together in a year or shorter."""
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
    """Whether the letter before `end` is a sign, or a figure among at most four in a row."""
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
    """Neighbours on a keyboard or in the alphabet, forwards or back; or one letter again."""
    if len(part) < SHORTEST_WALK:
        return False
    return len(set(part)) == 1 or any(part in row or part[::-1] in row for row in ROWS)


def _repeats(text: str, end: int) -> list[int]:
    """Where text begins that says again what stands right before it."""
    return [
        begin
        for begin in range(end // 2, end)
        if end - begin >= 2 and text[begin:end] == text[2 * begin - end : begin]
    ]
