"""The settings of both engines."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Settings:
    """Parameters of the public estimators that the engines read, resolved for the data."""

    n_clusters: int
    n_latent: int
    hidden: tuple[int, ...]
    network: str
    likelihood: str
    n_epochs: int
    pretrain_epochs: int
    batch_size: int
    learning_rate: float
    start: str
    guidance: float
    worker_prior: tuple[float, float]
    device: torch.device
    # Bayesian variant only.
    concentration: float = 0.5
    component_spread: float = 0.1
    n_sweeps: int = 4
    natural_step: float | None = None
    second_term: bool = False
    merge: bool = True
    # SCDC only.
    n_summed: int | None = None

    @property
    def epochs_before(self) -> int:
        """Epochs of the autoencoder, which comes first."""
        return 0 if self.start == "random" else self.pretrain_epochs

    @property
    def all_epochs(self) -> int:
        return self.epochs_before + self.n_epochs


def steps_of_epochs(n_items: int, batch_size: int, n_steps: int, low: int, high: int) -> int:
    """The number of epochs with about n_steps steps, within low..high."""
    per_epoch = -(-n_items // min(batch_size, n_items))
    return int(min(max(n_steps // per_epoch, low), high))
