"""What no log may hold is taken out of each line before it is written.

Code does not log secrets. This is for what libraries and errors quote: addresses with what stands
behind the question mark, headers, connection strings.
"""

import re

GONE = "[redacted]"
# What PostgreSQL says beyond its first line quotes rows: "DETAIL:  Failing row contains (…)",
# "CONTEXT:  unnamed portal parameter $1 = '…'". A value may have lines of its own, so everything
# goes until something that only a traceback, SQLAlchemy or PostgreSQL writes.
ROW_VALUES = re.compile(
    r"^([ |+]*)(DETAIL|CONTEXT|HINT|QUERY|STATEMENT):[ \t].*?"
    r"(?=\n[ |+]*(?:\[SQL|\(Background on this error|The above exception was|"
    r"During handling of|Traceback \(most recent|LINE \d+:)|\Z)",
    re.MULTILINE | re.DOTALL,
)
# Lengths are bounded where a pattern could begin anywhere: else a long line takes its square.
PATTERNS = (
    (ROW_VALUES, rf"\1\2: {GONE}"),
    # Cookie and Set-Cookie headers; the rest of the line.
    (re.compile(r"(?i)\b((?:set-)?cookie['\"]?\s*[:=]\s*)[^\n]+"), rf"\1{GONE}"),
    (re.compile(r"(?i)\b(bearer|basic|token)(\s+)[\w.~+/=-]{8,}"), rf"\1\2{GONE}"),
    # API tokens, wherever they stand.
    (re.compile(r"\blw_[\w-]{8,}"), GONE),
    # What was sealed, such as annotators' tokens.
    (re.compile(r"\bgAAAA[\w-]{60,}={0,2}"), GONE),
    # postgresql://user:password@host, smtp://…, redis://…
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/@]{0,300}:)[^\s/]{1,300}@"), rf"\1{GONE}@"),
    # Tokens that are a part of a path: one-time links, annotators' links.
    (re.compile(r"(/sign-in/|/a/(?:(?:mturk|prolific)/)?)[\w.~%-]{8,}"), rf"\1{GONE}"),
    # Queries of addresses, as a whole.
    (re.compile(r"((?:https?://|/)[^\s?'\"<>]{0,2000}\?)[^\s'\"<>]+"), rf"\1{GONE}"),
    # Their parts, elsewhere: workerId=…, "PROLIFIC_PID": "…".
    (
        re.compile(
            r"(?i)\b((?:worker|assignment|hit|participant|submission|session|study)_?id"
            r"|prolific_pid|prolific_token|annotator_key|password|secret_key|token)"
            r"(['\"]?\s*[=:]\s*['\"]?)[^\s'\"&,;)}\]]+"
        ),
        rf"\1\2{GONE}",
    ),
    # A Prolific id, and an MTurk worker's, by how they look.
    (re.compile(r"\b[0-9a-f]{24}\b"), GONE),
    (re.compile(r"\bA(?=[A-Z]*\d)[0-9A-Z]{11,20}\b"), GONE),
)


def redacted(text: str) -> str:
    """The text without what could be used, or tell who somebody is."""
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    return text
