"""StableHLO as text: types, a builder of operations, and whole modules. No jaxlib here."""
