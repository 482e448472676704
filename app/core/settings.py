"""Settings, read once from the environment.

Every name below is an environment variable. `DATABASE_URL`, `REDIS_URL` and `STORAGE_URL` are read
without a prefix because that is what hosting platforms set; everything else starts with
`LIKEWISE_`. When the first three are missing, `likewise up` runs embedded servers under
`LIKEWISE_DATA` and passes their addresses on to the processes it starts.
"""

from functools import lru_cache
from pathlib import Path

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
    base_url: str = "http://127.0.0.1:8000"

    smtp_url: SecretStr = Field(default=SecretStr(""))
    mail_from: str = "likewise@localhost"

    lease_seconds: int = Field(default=900, ge=5, le=86_400)
    job_lease_seconds: int = Field(default=60, ge=2, le=3_600)
    job_time_limit_seconds: int = Field(default=3_600, ge=10)
    job_max_attempts: int = Field(default=3, ge=1, le=20)
    redispatch_seconds: int = Field(default=20, ge=1, le=600)

    max_upload_bytes: int = Field(default=512 * 2**20, ge=2**20)
    max_image_bytes: int = Field(default=32 * 2**20, ge=2**10)
    max_image_pixels: int = Field(default=40_000_000, ge=10_000)
    max_collection_images: int = Field(default=200_000, ge=1)

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
