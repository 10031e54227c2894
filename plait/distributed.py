"""plait.distributed: several processes, on one machine or many, as one computation."""

from plait.runtime.processes import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
