"""Removes from each log line what must not be logged.

Our code does not log secrets. This module is for what libraries and errors quote: query strings,
headers, connection strings.
"""

import re

GONE = "[redacted]"
# Everything after the first line of a PostgreSQL error quotes rows: "DETAIL:  Failing row contains
# (…)", "CONTEXT:  unnamed portal parameter $1 = '…'". A value may contain line breaks, so
# everything is removed up to something that only a traceback, SQLAlchemy or PostgreSQL writes.
ROW_VALUES = re.compile(
    r"^([ |+]*)(DETAIL|CONTEXT|HINT|QUERY|STATEMENT):[ \t].*?"
    r"(?=\n[ |+]*(?:\[SQL|\(Background on this error|The above exception was|"
    r"During handling of|Traceback \(most recent|LINE \d+:)|\Z)",
    re.MULTILINE | re.DOTALL,
)
# Lengths are bounded where a pattern could begin anywhere; otherwise a long line would take
# quadratic time.
PATTERNS = (
    (ROW_VALUES, rf"\1\2: {GONE}"),
    # Cookie and Set-Cookie headers; the rest of the line.
    (re.compile(r"(?i)\b((?:set-)?cookie['\"]?\s*[:=]\s*)[^\n]+"), rf"\1{GONE}"),
    (re.compile(r"(?i)\b(bearer|basic|token)(\s+)[\w.~+/=-]{8,}"), rf"\1\2{GONE}"),
    # API tokens, anywhere.
    (re.compile(r"\blw_[\w-]{8,}"), GONE),
    # Encrypted texts, such as annotators' tokens.
    (re.compile(r"\bgAAAA[\w-]{60,}={0,2}"), GONE),
    # postgresql://user:password@host, smtp://…, redis://…
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/@]{0,300}:)[^\s/]{1,300}@"), rf"\1{GONE}@"),
    # Tokens in paths: one-time links, read-only links, annotators' links.
    (re.compile(r"(/sign-in/|/r/|/a/(?:[a-z][a-z_]{0,19}/)?)[\w.~%-]{8,}"), rf"\1{GONE}"),
    # Query strings as a whole.
    (re.compile(r"((?:https?://|/)[^\s?'\"<>]{0,2000}\?)[^\s'\"<>]+"), rf"\1{GONE}"),
    # Their parameters, anywhere else: workerId=…, "PROLIFIC_PID": "…".
    (
        re.compile(
            r"(?i)\b((?:worker|assignment|hit|participant|submission|session|study)_?id"
            r"|prolific_pid|prolific_token|annotator_key|password|secret_key|token)"
            r"(['\"]?\s*[=:]\s*['\"]?)[^\s'\"&,;)}\]]+"
        ),
        rf"\1\2{GONE}",
    ),
    # Prolific ids and MTurk worker ids, recognised by their form.
    (re.compile(r"\b[0-9a-f]{24}\b"), GONE),
    (re.compile(r"\bA(?=[A-Z]*\d)[0-9A-Z]{11,20}\b"), GONE),
)


def redacted(text: str) -> str:
    """Return the text without secrets and without anything that identifies a person."""
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    return text
