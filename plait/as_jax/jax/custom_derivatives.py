"""What jax.custom_derivatives has beside plait.custom_derivatives: the ops themselves."""

from plait.core.primitive import registry

custom_jvp_call_p = registry["custom_jvp_call"]
custom_vjp_call_p = registry["custom_vjp_call"]

__all__ = ["custom_jvp_call_p", "custom_vjp_call_p"]
