"""The OpenAPI document: what the framework generates, and what the whole API shares.

Operation ids are the names of the route functions, so that generated clients are easy to read. They
are part of the API and do not change within a version.
"""

from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

Schema = dict[str, Any]
ADDRESS = "/api/v1/openapi.json"
ANNOTATORS = "/api/v1/annotate"
PROBLEM = {"$ref": "#/components/schemas/Problem"}
# The framework gives these names to the bodies that it builds from form fields.
FORMS = "Body_"
WRITES = ("post", "put", "patch", "delete")

TAGS = {
    "collections": "Sets of images, with attributes and features.",
    "campaigns": "Questions asked about a collection, and who can see them.",
    "annotators": "Answers, the quality of annotators' work, and the annotators' pages.",
    "results": "Progress, models, maps, attributes, and nearest neighbours on request.",
    "map": "The map of a model in tiles, for pages that draw 100,000 images.",
    "clusters": "Groups of images that are close together in a model. You can name and merge them.",
    "labels": "The labels of the images of a select campaign, from votes and a classifier.",
    "planning": "The available choices, the cost of a campaign, and what simulated answers find.",
    "recruitment": "People from MTurk and Prolific, their pay, and the ledger of payments.",
    "exports": "Files to download.",
    "webhooks": (
        "Signed messages to other programs, following the [Standard "
        "Webhooks](https://www.standardwebhooks.com) specification: the header "
        "`webhook-signature` holds `v1,` and the base64 of the HMAC-SHA256 of "
        "`{webhook-id}.{webhook-timestamp}.{body}`, with the base64-decoded key that follows "
        "`whsec_` in the secret. `likewise.client.verify_webhook` checks it. A delivery without "
        "a 2xx response within ten seconds is retried for twelve and a half hours; every retry "
        "has the same `webhook-id`."
    ),
    "annotation": "The API of the annotators' page, which uses its own token.",
}
DESCRIPTION = """Likewise learns which images people perceive as similar, and why.

- **Authentication**: `Authorization: Bearer lw_…` with a token created under *Account*, or the
  session cookie.
- **Errors**: `application/problem+json` with a stable `code` and a sentence for people.
  Something that belongs to another account gets 404, as if it did not exist.
- **Lists** come in pages: send `limit`, and as `after` the `next` value of the previous page.
- **POST** accepts an `Idempotency-Key`: a repeated request takes effect only once.
- **Requests made from `/docs/api`** are real. If you are signed in, they need no authorization.
"""
MEANINGS = {
    "400": "The request body does not match its content type.",
    "401": "There is no token or session, or it is unknown, revoked or expired.",
    "403": "Not allowed: the token is read-only, or the campaign is shared with you to view only.",
    "404": "It does not exist, or it is not yours.",
    "409": "Not possible in its current state.",
    "413": "The request body is too large.",
    "422": "Something in the request is invalid; `errors` names the fields where possible.",
    "503": (
        "Temporarily unavailable: the server is busy, or its database or a platform does not "
        "respond. Try again."
    ),
}
PROBLEM_SCHEMA: Schema = {
    "title": "Problem",
    "description": "An error, as defined by RFC 9457. `code` is stable; `detail` is for people.",
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "fields": {
            "description": (
                "Fields of the request that are to blame, as `annotation.gold_share`, if known."
            ),
            "type": "array",
            "items": {"type": "string"},
        },
        "words": {
            "description": "`detail` for people who see a form: titles in place of names.",
            "type": "string",
        },
        "errors": {
            "description": (
                "For a request that does not match the schema: each invalid field and the reason."
            ),
            "type": "array",
            "items": {
                "type": "object",
                "required": ["where", "message"],
                "properties": {"where": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
    "examples": [
        {
            "type": "about:blank",
            "title": "Conflict",
            "status": 409,
            "code": "bad_state",
            "detail": "Cannot pause this campaign: it is draft, not running.",
        }
    ],
}
SECURITY: dict[str, Schema] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "lw_…",
        "description": "A personal API token, created under Account: read-only, or read and write.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "likewise",
        "description": "The session cookie of a signed-in browser; `__Host-likewise` over https.",
    },
    "annotator": {
        "type": "http",
        "scheme": "bearer",
        "description": "Returned by `open_session` for an annotators' link.",
    },
}


def release() -> str:
    """Return the version of this program."""
    try:
        return version("likewise")
    except PackageNotFoundError:
        return "0"


def operation_id(route: APIRoute) -> str:
    return route.name


def describe_api(app: FastAPI) -> None:
    """Make the application use the completed document."""
    completing = Lock()

    def described() -> Schema:
        with completing:
            if app.openapi_schema is None:
                app.openapi_schema = _completed(app)
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]  # the documented way


def _completed(app: FastAPI) -> Schema:
    schema = get_openapi(
        title=app.title,
        version=release(),
        description=DESCRIPTION,
        routes=app.routes,
        webhooks=app.webhooks.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    parts = schema["components"]
    parts["schemas"]["Problem"] = PROBLEM_SCHEMA
    for framework in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(framework, None)
    parts["securitySchemes"] = SECURITY
    for name, part in parts["schemas"].items():
        if name.startswith(FORMS):
            fields = part["properties"].items()
            part["properties"] = {field: _not_null(kind) for field, kind in fields}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            _complete(path, method, operation)
    for event, methods in schema.get("webhooks", {}).items():
        for operation in methods.values():
            operation["operationId"] = f"on_{event.replace('.', '_')}"
            operation["responses"] = {"2XX": {"description": "Taken."}}
    return schema


def problem(description: str) -> Schema:
    """Describe an error response of an operation."""
    content = {"application/problem+json": {"schema": PROBLEM}}
    return {"description": description, "content": content}


def _complete(path: str, method: str, operation: Schema) -> None:
    text = operation.get("description", "")
    if text:
        summary, _, _ = text.replace("\n", " ").partition(". ")
        operation["summary"] = summary.rstrip(".")
    operation["security"] = _security(path, operation)
    _without_null(operation)
    codes = ["401"] if operation["security"] else []
    codes += ["403"] if method in WRITES else []
    codes += ["404"] if "{" in path or method in WRITES else []
    codes += ["400", "413"] if method in WRITES else []
    has_state = method in WRITES or "{" in path or path.startswith(ANNOTATORS)
    codes += ["409"] if has_state else []
    for code in [*codes, "422", "503"]:
        operation["responses"][code] = problem(MEANINGS[code])


def _without_null(operation: Schema) -> None:
    """Remove null from the types of optional query and header parameters, because it cannot be sent
    there."""
    for parameter in operation.get("parameters", []):
        parameter["schema"] = _not_null(parameter["schema"])


def _not_null(schema: Schema) -> Schema:
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) == len(schema.get("anyOf", [])):
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**kinds[0], **rest} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _security(path: str, operation: Schema) -> list[dict[str, list[str]]]:
    if not path.startswith(ANNOTATORS):
        return [{"token": []}, {"cookie": []}]
    return [{"annotator": []}] if "security" in operation else []
