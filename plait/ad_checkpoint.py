"""plait.ad_checkpoint: which values a checkpointed function keeps for its derivative."""

from plait.regions.checkpoint import checkpoint, checkpoint_name, checkpoint_policies
from plait.regions.checkpoint import checkpoint as remat
from plait.transforms.residuals import print_saved_residuals

__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
]
