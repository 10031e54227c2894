"""What chex offers: dataclasses that are trees, assertions, tests of several variants."""

import chex
import jax
import jax.numpy as jnp
import numpy as np


@chex.dataclass
class State:
    weights: chex.Array
    step: int


state = State(weights=jnp.ones((2, 3)), step=0)
chex.assert_shape(state.weights, (2, None))
chex.assert_rank([state.weights, 1.0], [2, 0])
chex.assert_type(state.weights, float)
chex.assert_tree_all_finite(state)
doubled = jax.jit(lambda s: jax.tree.map(lambda x: x * 2, s))(state)
assert isinstance(doubled, State)
chex.assert_trees_all_close(doubled, State(weights=np.full((2, 3), 2.0), step=0))
chex.assert_trees_all_equal_shapes_and_dtypes(state.weights, doubled.weights)


@jax.jit
@chex.assert_max_traces(1)
def once(x):
    return x + 1


once(jnp.ones(2))
once(jnp.zeros(2))


@chex.chexify
@jax.jit
def root(x):
    chex.assert_tree_all_finite(x)
    return jnp.sqrt(x)


root(jnp.ones(2))
root.wait_checks()
try:
    root(jnp.array([1.0, jnp.nan]))
    root.wait_checks()
except AssertionError as error:
    print("refused:", str(error).splitlines()[0])

with chex.fake_jit():
    assert float(jax.jit(lambda x: x * 2)(3.0)) == 6.0
with chex.fake_pmap():
    assert jax.pmap(lambda x: x + 1)(jnp.zeros((2, 3))).shape == (2, 3)


class Variants(chex.TestCase):
    @chex.variants(with_jit=True, without_jit=True, with_device=True, with_pmap=True)
    def test_square(self):
        square = self.variant(lambda x: x * x)
        np.testing.assert_allclose(square(jnp.arange(3.0)), [0, 1, 4])


if __name__ == "__main__":
    import unittest

    outcome = unittest.TextTestRunner().run(
        unittest.defaultTestLoader.loadTestsFromTestCase(Variants)
    )
    print("variants:", outcome.testsRun, len(outcome.failures) + len(outcome.errors))
