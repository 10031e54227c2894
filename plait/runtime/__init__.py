"""XLA: devices, arrays on them, compilation and launch. xla.py alone imports jaxlib."""
