"""CompilesWhole: transformations of compiled functions are compiled as a whole.

grad(pmap(f)), called outside of all transformations, then costs one look-up and one launch, as
pmap(grad(f)) does. f is traced in either case, so no Python of the user's is skipped.
"""

from __future__ import annotations

from plait.config import state
from plait.core.context import context
from plait.runtime.eager import eager
from plait.transforms.arguments import Selected
from plait.transforms.calls import JitFunction
from plait.transforms.transformed import Transformed


class CompilesWhole(Transformed):
    """A transformation that runs eagerly unless the function inside is compiled."""

    _whole: JitFunction | None = None

    def whole(self) -> JitFunction | None:
        """This function, compiled; None where it has to run as it is."""
        if context.interpreter is not eager or state.disable_jit:
            return None
        if self._whole is None:
            inner = self.fun
            while isinstance(inner, CompilesWhole):
                inner = inner.fun
            if not isinstance(inner, JitFunction):
                return None
            static = Selected((), ())
            if inner.has_static:
                if self.kind == "vmap" or inner is not self.fun:
                    return None
                static = inner.static
            self._whole = JitFunction(self, static)
            self._whole.kind = self.kind
        return self._whole
