"""The fields that the API accepts and sends.

They follow Prolific's published OpenAPI description (see `README.md` in
`tests/emulators/prolific_examples`). In requests and in responses, no value is coerced and no
unknown field is accepted.
"""
