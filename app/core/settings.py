"""Settings, read once from the environment.

Every name below is an environment variable. `DATABASE_URL`, `REDIS_URL` and `STORAGE_URL` are read
without a prefix because that is what hosting platforms set; everything else starts with
`LIKEWISE_`. When the first three are missing, `likewise up` runs embedded servers under
`LIKEWISE_DATA` and passes their addresses on to the processes it starts.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

_URL = re.compile(r"[a-z0-9]+://.")
_ENCODER = r"^$|^open_clip:[^/]+/.+$|^dino:[^/]+(/.+)?$|^.+\.(safetensors|pt)$"
POSTGRESQL = "postgresql+psycopg://"


class Settings(BaseSettings):
    """All settings of the web server, the Celery worker and the command line."""

    # Errors would show passwords in addresses.
    model_config = SettingsConfigDict(
        env_prefix="LIKEWISE_", populate_by_name=True, hide_input_in_errors=True
    )

    database_url: str = Field(validation_alias=AliasChoices("DATABASE_URL", "database_url"))
    # The address of PostgreSQL itself if database_url leads through a pooler in transaction mode
    # (PgBouncer); empty if there is no pooler.
    direct_database_url: str = ""
    redis_url: str = Field(validation_alias=AliasChoices("REDIS_URL", "redis_url"))
    storage_url: str = Field(
        default="", validation_alias=AliasChoices("STORAGE_URL", "storage_url")
    )
    data: Path = Path(".likewise")
    secret_key: SecretStr
    # Earlier values of the secret key, newest first, separated by spaces. They are still used for
    # reading.
    old_secret_keys: SecretStr = Field(default=SecretStr(""))
    base_url: str = "http://127.0.0.1:8000"
    # Host names that the server accepts in addition to that of base_url; `*` accepts any.
    allowed_hosts: str = ""

    # Browsers are signed out after so long without a request, and after so long in any case.
    session_idle_hours: int = Field(default=72, ge=1, le=8_760)
    session_hours: int = Field(default=336, ge=1, le=8_760)
    # For payments, tokens and passwords, people must have confirmed their identity within so many
    # minutes.
    confirm_minutes: int = Field(default=30, ge=1, le=1_440)
    # Who must have a second factor: nobody, those who recruit and pay, or everyone.
    second_factor: Literal["offered", "payers", "everybody"] = "offered"

    smtp_url: SecretStr = Field(default=SecretStr(""))
    mail_from: str = "likewise@localhost"

    webhooks_to_private: bool = False

    # An endpoint with MTurk's or Prolific's API, and the origin where its annotators work: for
    # emulators and compatible services, as the environment "custom".
    mturk_endpoint: str = ""
    mturk_worker_site: str = ""
    # An SQS queue that MTurk may send events to, read with the server's own AWS credentials.
    mturk_queue_url: str = ""
    prolific_endpoint: str = ""
    prolific_site: str = ""
    # How often platforms are polled for submissions, in seconds.
    poll_seconds: float = Field(default=30, ge=0.2, le=3_600)
    # After this time, a process that claimed a request to a platform is considered dead.
    claim_seconds: int = Field(default=45, ge=2, le=3_600)
    # How often, in seconds, the outcome of an unconfirmed payment is checked before a person is
    # asked.
    look_seconds: float = Field(default=20, ge=0.2, le=3_600)
    # After this time without activity, someone working on a platform's assignment is considered to
    # have left.
    presence_seconds: int = Field(default=90, ge=1, le=3_600)

    # Days after a campaign's end until its annotators' identities are deleted; 0: never
    # automatically.
    retention_days: int = Field(default=180, ge=0, le=36_500)

    lease_seconds: int = Field(default=900, ge=5, le=86_400)
    job_lease_seconds: int = Field(default=60, ge=2, le=3_600)
    job_time_limit_seconds: int = Field(default=3_600, ge=10)
    job_max_attempts: int = Field(default=3, ge=1, le=20)
    redispatch_seconds: int = Field(default=20, ge=1, le=600)
    # Trainings of one account that workers may have at once. Further ones wait, and other accounts
    # go first.
    trainings_per_account: int = Field(default=2, ge=1, le=1_000)
    # Whether each round is followed by a comparison of models of two halves of the answers.
    compare_halves: bool = True
    # How far trainings, and the web server's second process, give way to annotators' requests: Unix
    # niceness, in sessions of their own. Below 17, Linux sometimes lets them compute for up to
    # 4 ms before a thread that wakes, and an annotator's request wakes dozens of times.
    training_niceness: int = Field(default=19, ge=0, le=19)
    heavy_niceness: int = Field(default=17, ge=0, le=19)
    # Strategies whose trainings go to workers with a GPU (`likewise worker --queue learning-gpu`),
    # separated by spaces or commas.
    gpu_strategies: str = ""

    max_upload_bytes: int = Field(default=512 * 2**20, ge=2**20)
    max_image_bytes: int = Field(default=32 * 2**20, ge=2**10)
    max_image_pixels: int = Field(default=40_000_000, ge=10_000)
    max_collection_images: int = Field(default=200_000, ge=1)
    # Maximum number of images of an account in all its collections together.
    max_account_images: int = Field(default=1_000_000, ge=1)
    # Maximum number of an account's answers, and of images' positions in its models: a model has
    # one for each image of its campaign.
    max_account_answers: int = Field(default=20_000_000, ge=1)
    max_account_positions: int = Field(default=200_000_000, ge=1)

    # Object storage from which collections may be imported: prefixes, separated by spaces or
    # commas.
    import_sources: str = ""
    import_from_private: bool = False

    # module:function that turns images into features (docs/features.md).
    features: str = Field(default="", pattern=r"^$|^[\w.]+:\w+$")
    # The encoder of "what images show", if not the built-in one (docs/features.md).
    encoder: str = Field(default="", pattern=_ENCODER)

    # Format of log output: lines for people, or JSON objects for programs.
    log_format: Literal["text", "json"] = "text"
    # The token for reading /metrics; while it is empty, nobody can.
    metrics_token: SecretStr = Field(default=SecretStr(""))

    @field_validator("database_url", "direct_database_url")
    @classmethod
    def _with_driver(cls, url: str, info: ValidationInfo) -> str:
        """Return an address with our driver; hosting platforms name none."""
        if url.startswith(POSTGRESQL) or (not url and info.field_name != "database_url"):
            return url
        for scheme in ("postgresql://", "postgres://"):
            if url.startswith(scheme):
                return POSTGRESQL + url.removeprefix(scheme)
        raise ValueError(f"an address of PostgreSQL begins with {POSTGRESQL}")

    @field_validator("storage_url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        if url and not _URL.match(url):
            raise ValueError("object storage is s3://bucket/prefix, a folder file:///path")
        return url

    @property
    def direct_url(self) -> str:
        """Return the address of PostgreSQL itself, with or without a pooler."""
        return self.direct_database_url or self.database_url

    @property
    def storage(self) -> str:
        """Return the object storage address: `STORAGE_URL`, or a folder under `LIKEWISE_DATA`."""
        return self.storage_url or (self.data.resolve() / "storage").as_uri()

    @property
    def secure_cookies(self) -> bool:
        return self.base_url.startswith("https://")


def problems_of_settings(error: ValidationError) -> str:
    """Describe invalid settings by their environment variables, without their values."""
    problems = []
    for problem in error.errors():
        name = str(problem["loc"][0])
        variable = name if name.isupper() else f"LIKEWISE_{name.upper()}"
        problems.append(f"{variable}: {problem['msg'].removeprefix('Value error, ')}")
    return "; ".join(problems)


@lru_cache
def get_settings() -> Settings:
    """Return the process-wide settings; raises `pydantic.ValidationError` if one is missing or
    invalid."""
    return Settings()
