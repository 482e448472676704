"""Settings, read once from the environment.

Every name below is an environment variable. `DATABASE_URL`, `REDIS_URL` and `STORAGE_URL` are read
without a prefix because that is what hosting platforms set; everything else starts with
`LIKEWISE_`. When the first three are missing, `likewise up` runs embedded servers under
`LIKEWISE_DATA` and passes their addresses on to the processes it starts.
"""

from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """All settings of the web server, the Celery worker and the command line."""

    model_config = SettingsConfigDict(env_prefix="LIKEWISE_", populate_by_name=True)

    database_url: str = Field(validation_alias=AliasChoices("DATABASE_URL", "database_url"))
    redis_url: str = Field(validation_alias=AliasChoices("REDIS_URL", "redis_url"))
    storage_url: str = Field(
        default="", validation_alias=AliasChoices("STORAGE_URL", "storage_url")
    )
    data: Path = Path(".likewise")
    secret_key: SecretStr
    # Earlier values of the secret key, the newest first, apart by blanks: still good for reading.
    old_secret_keys: SecretStr = Field(default=SecretStr(""))
    base_url: str = "http://127.0.0.1:8000"
    # Names by which the server may be asked for, beside that of base_url; `*`: any.
    allowed_hosts: str = ""

    # Browsers are signed out after so long without a request, and after so long in any case.
    session_idle_hours: int = Field(default=72, ge=1, le=8_760)
    session_hours: int = Field(default=336, ge=1, le=8_760)
    # Paying, tokens, passwords: who they are must have been proved within so many minutes.
    confirm_minutes: int = Field(default=30, ge=1, le=1_440)
    # Who must have a second factor: nobody must, those who recruit and pay, or everybody.
    second_factor: Literal["offered", "payers", "everybody"] = "offered"

    smtp_url: SecretStr = Field(default=SecretStr(""))
    mail_from: str = "likewise@localhost"

    webhooks_to_private: bool = False

    # An endpoint that speaks MTurk's or Prolific's language, and the origin where its people work:
    # for emulators and compatible services, as the environment "custom".
    mturk_endpoint: str = ""
    mturk_worker_site: str = ""
    # An SQS queue that MTurk may send events to, read with the server's own AWS credentials.
    mturk_queue_url: str = ""
    prolific_endpoint: str = ""
    prolific_site: str = ""
    # How often platforms are asked what came back, in seconds.
    poll_seconds: float = Field(default=30, ge=0.2, le=3_600)
    # After so long, whoever was to make a request to a platform is taken for dead.
    claim_seconds: int = Field(default=45, ge=2, le=3_600)
    # How often, in seconds, a payment of unknown outcome is looked for before a person is asked.
    look_seconds: float = Field(default=20, ge=0.2, le=3_600)
    # After so long a silence, somebody at work on a platform's assignment is taken to have left.
    presence_seconds: int = Field(default=90, ge=1, le=3_600)

    # Days after a campaign's end when it is forgotten who its people were; 0: never by itself.
    retention_days: int = Field(default=180, ge=0, le=36_500)

    lease_seconds: int = Field(default=900, ge=5, le=86_400)
    job_lease_seconds: int = Field(default=60, ge=2, le=3_600)
    job_time_limit_seconds: int = Field(default=3_600, ge=10)
    job_max_attempts: int = Field(default=3, ge=1, le=20)
    redispatch_seconds: int = Field(default=20, ge=1, le=600)
    # Trainings of one account that may be with workers at once; more wait, and others go first.
    trainings_per_account: int = Field(default=2, ge=1, le=1_000)

    max_upload_bytes: int = Field(default=512 * 2**20, ge=2**20)
    max_image_bytes: int = Field(default=32 * 2**20, ge=2**10)
    max_image_pixels: int = Field(default=40_000_000, ge=10_000)
    max_collection_images: int = Field(default=200_000, ge=1)
    # Of all collections of an account together.
    max_account_images: int = Field(default=1_000_000, ge=1)

    # Object storage that collections may be imported from: prefixes, apart by blanks or commas.
    import_sources: str = ""
    import_from_private: bool = False

    # module:function that turns images into features (docs/features.md).
    features: str = Field(default="", pattern=r"^$|^[\w.]+:\w+$")

    # How processes write to the terminal: lines for people, or JSON objects for programs.
    log_format: Literal["text", "json"] = "text"
    # Who has it may read /metrics; nobody may while it is empty.
    metrics_token: SecretStr = Field(default=SecretStr(""))

    @property
    def storage(self) -> str:
        """Object storage address: `STORAGE_URL`, or a folder under `LIKEWISE_DATA`."""
        return self.storage_url or (self.data.resolve() / "storage").as_uri()

    @property
    def secure_cookies(self) -> bool:
        return self.base_url.startswith("https://")


@lru_cache
def get_settings() -> Settings:
    """The process-wide settings; raises `pydantic.ValidationError` when one is missing or wrong."""
    return Settings()
