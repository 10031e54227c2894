"""The smallest data-parallel program: one elementwise function, two devices, one row for each.

Shows what the first call costs (it compiles) against the later ones, and that jit inside or outside
of pmap changes neither the numbers nor the price.

Run:  python examples/elementwise_pmap.py
      PLAIT_NUM_CPU_DEVICES=1 python examples/elementwise_pmap.py
"""

from statistics import median
from time import perf_counter

import numpy as np

import plait
import plait.numpy as jnp


def wave(x):
    """A few elementwise operations; nothing in here knows of devices."""
    y = jnp.sin(x) * jnp.cos(x)
    y = jnp.tanh(y)
    return jnp.sqrt(jnp.abs(y))


def wave_in_numpy(x):
    return np.sqrt(np.abs(np.tanh(np.sin(x) * np.cos(x))))


def microseconds(functions, x, calls=200):
    """Median time of one finished call of each function, in turn so that all share the noise."""
    times = [[] for _ in functions]
    for _ in range(calls):
        for function, taken in zip(functions, times):
            start = perf_counter()
            function(x).block_until_ready()
            taken.append(perf_counter() - start)
    return [1e6 * median(taken) for taken in times]


def price(function, x):
    """Floating-point operations and bytes moved, as XLA counts them in the compiled program."""
    cost = function.lower(x).compile().cost_analysis()
    return cost["flops"], cost["bytes accessed"]


def main():
    devices = plait.local_devices()[:2]
    data = np.arange(8, dtype=np.float32).reshape(2, 4)
    x = plait.device_put(data, devices)  # a list of devices: the leading axis is split over them
    print(f"{plait.local_device_count()} devices here, {len(devices)} used")
    print(f"data {x.shape} {x.dtype} on {', '.join(sorted(str(d) for d in x.devices()))}\n")

    mapped = plait.pmap(wave)
    start = perf_counter()
    result = mapped(x).block_until_ready()
    first = 1e6 * (perf_counter() - start)
    print(f"pmap(wave)(x) =\n{result}\n")
    np.testing.assert_allclose(result, wave_in_numpy(data), rtol=1e-5)

    # jit under pmap: pmap compiles anyway, so this changes nothing.
    mapped_jit = plait.pmap(plait.jit(wave))
    np.testing.assert_array_equal(mapped_jit(x), result)

    # jit of one part of a larger mapped function: nor does this.
    compiled_wave = plait.jit(wave)
    larger = plait.pmap(lambda row: wave(row) + 1.0)
    larger_jit = plait.pmap(lambda row: compiled_wave(row) + 1.0)
    np.testing.assert_allclose(larger(x), wave_in_numpy(data) + 1.0, rtol=1e-5)
    np.testing.assert_array_equal(larger_jit(x), larger(x))

    # And jit without pmap takes the same array, wherever its rows lie.
    np.testing.assert_allclose(compiled_wave(x), result, rtol=1e-6)

    names = ["pmap(wave)", "pmap(jit(wave))", "pmap(larger)", "pmap(larger with jit)"]
    later = microseconds([mapped, mapped_jit, larger, larger_jit], x)
    print(f"first call   {first:10,.0f} us  pmap(wave), most of it compilation")
    for name, time in zip(names, later):
        print(f"later calls  {time:10,.0f} us  {name}")

    # Times are for reading: what other programs do to them is no fact of this one. What XLA counts
    # in the compiled programs is, and it is the same with jit and without.
    assert price(mapped_jit, x) == price(mapped, x)
    assert price(larger_jit, x) == price(larger, x)
    print("\nThe results agree, and jit under pmap costs nothing.")


if __name__ == "__main__":
    main()
