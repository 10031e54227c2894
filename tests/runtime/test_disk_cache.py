"""The persistent compilation cache: hits, damage, and many processes at once."""

import concurrent.futures
import warnings

import pytest

from plait.runtime.disk_cache import DiskCache, entry_key
from tests.runtime.programs import SINE, callback_program, output_of, psum_program

# Compiles sine, runs it, and prints hits, misses and the sum of the result.
USE = f"""
    import numpy as np
    from plait.runtime import xla
    from plait.runtime.disk_cache import disk_cache
    devices = xla.make_cpu_client(2).local_devices()
    text = {SINE!r}
    program = xla.compile(text, devices[:1], out_types=[((4,), "float32")])
    (y,) = program.execute([xla.put(np.ones(4, np.float32), devices[0])])
    assert program.as_text().startswith("HloModule")
    total = xla.to_host(y, (4,), np.float32).sum()
    cache = disk_cache()
    print(cache and (cache.hits, cache.misses), round(float(total), 4))
"""


def use(folder, code=USE, **env):
    return output_of(code, PLAIT_COMPILATION_CACHE_DIR=str(folder), **env)


def test_write_and_read(tmp_path):
    cache = DiskCache(tmp_path / "new" / "folder")
    assert cache.read("k") is None
    cache.write("k", b"payload" * 1000)
    assert cache.read("k") == b"payload" * 1000
    cache.write("k", b"")
    assert cache.read("k") == b""
    assert (cache.hits, cache.misses) == (2, 1)
    assert [p.name for p in cache.folder.iterdir()] == ["k.xla"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:40],
        lambda data: b"",
        lambda data: b"something else",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data + b"more",
    ],
    ids=["short", "head", "empty", "foreign", "bit", "long"],
)
def test_damage_is_noticed_and_repaired(tmp_path, damage):
    cache = DiskCache(tmp_path)
    cache.write("k", b"payload")
    path = cache.path("k")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(UserWarning, match="damaged"):
        assert cache.read("k") is None
    cache.write("k", b"payload")
    assert cache.read("k") == b"payload"


def test_trouble_with_the_folder_is_a_warning(tmp_path):
    file = tmp_path / "file"
    file.write_text("in the way")
    cache = DiskCache(file)
    with pytest.warns(UserWarning, match="cannot write"):
        cache.write("k", b"payload")
    with pytest.warns(UserWarning, match="cannot read"):
        assert cache.read("k") is None


def test_keys():
    assert entry_key("a", "b") == entry_key("a", b"b") != entry_key("ab", "")
    assert entry_key("a", "bc") != entry_key("ab", "c") != entry_key("ab", "c", "")


def test_no_reader_sees_half_an_entry(tmp_path):
    cache = DiskCache(tmp_path)
    sizes = (10, 100_000, 3_000_000)

    def write(k):
        cache.write("k", bytes([k]) * sizes[k % 3])

    def read(_):
        data = cache.read("k")
        return data is None or (len(set(data)) == 1 and len(data) in sizes)

    with warnings.catch_warnings(), concurrent.futures.ThreadPoolExecutor(8) as pool:
        warnings.simplefilter("error")
        writers = [pool.submit(write, k) for k in range(40)]
        assert all(pool.map(read, range(200)))
        for w in writers:
            w.result()
    assert [p.name for p in tmp_path.iterdir()] == ["k.xla"]


def test_off_by_default():
    assert output_of(USE).startswith("None ")


def test_second_process_loads(tmp_path):
    assert use(tmp_path) == "(0, 1) 3.3659"
    assert use(tmp_path) == "(1, 0) 3.3659"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_entry_serves_every_device(tmp_path):
    use(tmp_path)
    assert use(tmp_path, USE.replace("[:1]", "[1:]").replace("devices[0]", "devices[1]")) == (
        "(1, 0) 3.3659"
    )


def test_programs_of_several_devices(tmp_path):
    code = f"""
        import numpy as np
        from plait.runtime import xla
        from plait.runtime.disk_cache import disk_cache
        devices = xla.make_cpu_client(4).local_devices()[ORDER]
        sharding = xla.tiled(devices, (2,), ((0,),))
        program = xla.compile({psum_program(2, 2)!r}, devices, num_partitions=2,
                              out_types=[((4,), "float32")], out_shardings=[sharding])
        parts = [np.float32([k, 10 * k]) for k in range(2)]
        (y,) = program.execute([xla.put_shards(parts, devices, (4,), sharding)])
        print(disk_cache().hits, xla.to_host(y, (4,), np.float32).tolist())
    """
    assert use(tmp_path, code.replace("ORDER", ":2")) == "0 [1.0, 10.0, 1.0, 10.0]"
    for order in (":2", "1::-1", "2:", "::3"):
        assert use(tmp_path, code.replace("ORDER", order)) == "1 [1.0, 10.0, 1.0, 10.0]"


def test_what_shapes_the_code_is_in_the_key(tmp_path):
    use(tmp_path)
    options = USE.replace("out_types", "options={'xla_cpu_enable_fast_math': True}, out_types")
    assert use(tmp_path, options).startswith("(0, 1)")
    extra = USE.replace("out_types", "cache_key_extra='x', out_types")
    assert use(tmp_path, extra).startswith("(0, 1)")
    assert use(tmp_path, XLA_FLAGS="--xla_cpu_enable_fast_math=true").startswith("(0, 1)")
    assert len(list(tmp_path.iterdir())) == 4


def test_unusable_entries_are_replaced(tmp_path):
    use(tmp_path)
    (entry,) = tmp_path.iterdir()
    DiskCache(tmp_path).write(entry.stem, b"whole, but no program")
    assert use(tmp_path) == "(1, 0) 3.3659"  # found, but XLA refuses it: compiled again
    entry.write_bytes(entry.read_bytes()[:-100])
    assert use(tmp_path) == "(0, 1) 3.3659"
    assert use(tmp_path) == "(1, 0) 3.3659"


def test_programs_with_callbacks(tmp_path):
    code = f"""
        import numpy as np
        from plait.runtime import xla
        from plait.runtime.disk_cache import disk_cache
        (device,) = xla.make_cpu_client(1).local_devices()
        program = xla.compile({callback_program("tensor<4xf32>", "tensor<4xf32>")!r}, [device],
            out_types=[((4,), "float32")],
            callbacks=[xla.HostCallback(lambda x: x[None] + SHIFT, [((4,), "float32")])])
        (y,) = program.execute([xla.put(np.ones(4, np.float32), device)])
        print(disk_cache().hits, xla.to_host(y, (4,), np.float32).sum())
    """
    assert use(tmp_path, code.replace("SHIFT", "np.float32(1)")) == "0 8.0"
    assert use(tmp_path, code.replace("SHIFT", "np.float32(2)")) == "1 12.0"


def test_processes_together(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        printed = list(pool.map(lambda _: use(tmp_path), range(4)))
    assert all(line.endswith("3.3659") for line in printed)
    assert use(tmp_path) == "(1, 0) 3.3659"
    assert len(list(tmp_path.iterdir())) == 1
