"""The XLA adapter and its process: trees, imports, Ctrl-C, forks, malloc, and how it ends."""

import platform

import pytest

from plait.runtime import xla
from tests.runtime.programs import (
    SINE,
    output_of,
)


def test_trees_have_a_registry_of_their_own():
    leaves, tree = xla.pytree_registry.flatten({"b": (1, None), "a": [2]})
    assert leaves == [2, 1] and tree.unflatten([3, 4]) == {"b": (4, None), "a": [3]}
    paths, _ = xla.pytree_registry.flatten_with_path({"b": (1,)})
    assert paths[0][0] == (xla.DictKey("b"), xla.SequenceKey(0))
    assert isinstance(tree, xla.PyTreeDef)


def test_import_is_light():
    code = """
        import sys
        from plait.runtime import client, xla
        heavy = [m for m in sys.modules if m.split(".")[0] in ("scipy", "jax")]
        heavy += [m for m in sys.modules if m.startswith("jaxlib.mlir")]
        print(heavy, client.is_started())
    """
    assert output_of(code) == "[] False"


def test_whole_session_never_looks_for_jax():
    code = """
        import sys
        class Watch:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "jax":
                    raise AssertionError(f"something tried to import {name}")
        sys.meta_path.insert(0, Watch())
        import numpy as np, ml_dtypes
        from plait.runtime import xla
        from programs import psum_program, SINE, callback_program
        devices = xla.make_cpu_client(2).local_devices()
        sharding = xla.tiled(devices, (2,), ((0,),))
        for dtype in (np.float32, ml_dtypes.bfloat16, ml_dtypes.int4):
            x = np.ones(4, dtype)
            b = xla.put(x, devices[0])
            xla.to_host(b, (4,), dtype); xla.copy_to(b, devices[1]); xla.ready(b); xla.nbytes(b)
            s = xla.put_shards([x[:2], x[2:]], devices, (4,), sharding)
            xla.to_host(s, (4,), dtype); xla.shard(s, 1, (4,), dtype)
        f = np.ones(4, np.float32)
        xla.from_dlpack(f, devices[0]); xla.to_dlpack(xla.put(f, devices[0]))
        p = xla.compile(SINE, devices[:1], out_types=[((4,), "float32")])
        p.execute([xla.put(f, devices[0])]); p.as_text(); p.cost_analysis(); p.memory_analysis()
        g = xla.compile(psum_program(2, 2), devices, num_partitions=2,
                        out_types=[((4,), "float32")], out_shardings=[sharding])
        xla.to_host(g.execute([xla.put_shards([f[:2], f[2:]], devices, (4,), sharding)])[0],
                    (4,), np.float32)
        c = xla.compile(callback_program("tensor<4xf32>", "tensor<4xf32>"), devices[:1],
                        out_types=[((4,), "float32")],
                        callbacks=[xla.HostCallback(lambda x: (x,), [((4,), "float32")])])
        xla.wait(c.execute([xla.put(f, devices[0])]))
        print("fine")
    """
    assert output_of(code) == "fine"


def test_ctrl_c_interrupts_a_wait():
    n = 1200
    code = f"""
        import os, signal, threading
        import numpy as np
        from plait.runtime import xla
        (device,) = xla.make_cpu_client(1).local_devices()
        kind = "tensor<{n}x{n}xf32>"
        lines = [f"%v{{i + 1}} = stablehlo.dot_general %v{{i}}, %v0, contracting_dims = [1] x [0]"
                 f" : ({{kind}}, {{kind}}) -> {{kind}}" for i in range(200)]
        text = f"func.func public @main(%v0: {{kind}}) -> {{kind}} {{{{\\n" + "\\n".join(lines)
        text += f"\\nreturn %v200 : {{kind}} }}}}"
        program = xla.compile(text, [device], out_types=[(({n}, {n}), "float32")])
        outs = program.execute([xla.put(np.eye({n}, dtype=np.float32), device)])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            xla.wait(outs)
            print("finished")
        except KeyboardInterrupt:
            print("interrupted", "late" if xla.ready(outs[0]) else "early")
    """
    assert output_of(code) == "interrupted early"


def test_forked_child_refuses_to_compute():
    code = f"""
        import os
        import numpy as np
        from plait.errors import BackendError
        from plait.runtime import xla
        device, _ = xla.make_cpu_client(2).local_devices()
        text = {SINE!r}
        program = xla.compile(text, [device], out_types=[((4,), "float32")])
        x = xla.put(np.ones(4, np.float32), device)
        program.execute([x])
        if os.fork() == 0:
            for attempt in (lambda: program.execute([x]),
                            lambda: xla.compile(text, [device], out_types=[((4,), "float32")])):
                try:
                    attempt()
                except BackendError as error:
                    assert "forked" in str(error) and "spawn" in str(error)
                else:
                    os._exit(1)
            os._exit(0 if xla.to_host(x, (4,), np.float32).sum() == 4 else 2)
        _, status = os.wait()
        program.execute([x])
        print(status)
    """
    assert output_of(code) == "0"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc only")
def test_malloc_tuning_keeps_large_blocks():
    code = """
        import resource
        import numpy as np
        from plait.runtime import startup, xla
        (device,) = xla.make_cpu_client(1).local_devices()
        n = 1 << 24
        kind = f"tensor<{n}xf32>"
        text = (f"func.func public @main(%a: {kind}) -> {kind} {{"
                f" %r = stablehlo.add %a, %a : {kind}\\n return %r : {kind} }}")
        program = xla.compile(text, [device], out_types=[((n,), "float32")])
        x = xla.put(np.zeros(n, np.float32), device)
        def faults():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            xla.wait(program.execute([x]))
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        print(min(faults() for _ in range(16)))  # the heap needs some calls to find its size
        startup.trim_malloc()
    """
    tuned, plain = int(output_of(code)), int(output_of(code, PLAIT_TUNE_MALLOC="0"))
    assert tuned < plain / 10, (tuned, plain)


@pytest.mark.parametrize("kept", [True, False])
def test_exit_while_a_program_runs(kept):
    code = """
        import numpy as np
        from plait.runtime import xla
        (device,) = xla.make_cpu_client(1).local_devices()
        n = 600
        kind = f"tensor<{n}x{n}xf32>"
        text = f"func.func public @main(%v0: {kind}) -> {kind} {{\\n"
        for i in range(40):
            text += (f"%v{i + 1} = stablehlo.dot_general %v{i}, %v0, contracting_dims = [1] x [0]"
                     f" : ({kind}, {kind}) -> {kind}\\n")
        program = xla.compile(text + f"return %v40 : {kind} }}", [device],
                              out_types=[((n, n), "float32")])
        outs = program.execute([xla.put(np.eye(n, dtype=np.float32), device)])
        print("launched")
    """ + ("" if kept else "    del outs\n")
    for _ in range(3):  # without `shutdown` about every second such process crashes
        assert output_of(code) == "launched"
