"""What the API accepts and sends, field by field.

Written from the facts of Prolific's published OpenAPI description (see `README.md` in
`tests/emulators/prolific_examples`). Nothing is coerced and nothing unknown is let through,
in requests and responses alike.
"""
