"""`import jax` as plait: the finder, the command, the names, and libraries written for JAX."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).parent.parent
LIBRARIES = ROOT / "tests" / "libraries"


def python(*arguments: object, code: int = 0, folder: pathlib.Path = ROOT, **variables: str):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "PLAIT_"))}
    path = os.pathsep.join([str(ROOT), env.get("PYTHONPATH", "")])
    env.update({"PYTHONPATH": path, "PLAIT_NUM_CPU_DEVICES": "2", **variables})
    env = {k: v for k, v in env.items() if v}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=folder, timeout=600)
    assert done.returncode == code, done.stderr
    return done


def printed(program: str, **variables: str) -> list[str]:
    return python("-c", textwrap.dedent(program), **variables).stdout.splitlines()


def test_every_form_of_import_gives_plait():
    out = printed(
        """
        import plait, plait.as_jax, sys
        plait.as_jax.install()
        plait.as_jax.install()  # again: nothing more
        import jax
        import jax.numpy as jnp
        import jax.experimental.pjit, jax.tree_util as jtu, jax.extend.core
        from jax import lax, random, numpy
        from jax.nn import initializers
        from jax.sharding import PartitionSpec as P
        assert jax.jit is plait.jit and jnp.sin is plait.numpy.sin and numpy is jnp
        assert lax.scan is plait.lax.scan and random.normal is plait.random.normal
        assert jtu.tree_map is plait.tree_util.tree_map and P is plait.P
        assert initializers.he_normal is plait.nn.initializers.he_normal
        assert jax.experimental.pjit.pjit is plait.jit
        assert jax.extend.core.Jaxpr is plait.core.program.Program
        assert jax.core.Tracer is plait.core.Tracer and jax.interpreters.ad.Zero
        assert jax.__version_info__ >= (0, 10) and jax.version.__version__ == jax.__version__
        assert "vmap" in dir(jax) and "program" not in dir(jax.core)
        scope = {}
        exec("from jax.numpy import *", scope)
        assert scope["arange"] is jnp.arange
        assert jax.config.jax_enable_x64 is False
        print(jax.grad(lambda x: jnp.sum(x**2))(jnp.arange(3.0)))
        print(jax)
        plait.as_jax.uninstall()
        print([m for m in sys.modules if m.partition(".")[0] == "jax"])
        plait.as_jax.uninstall()
        plait.as_jax.install()
        import jax as again
        assert again.vmap is plait.vmap
        """
    )
    assert out == ["[0. 2. 4.]", "<module 'jax' of plait>", "[]"]


def test_what_libraries_ask_of_traces_and_types():
    out = printed(
        """
        import plait.as_jax
        plait.as_jax.install()
        import jax, numpy as np
        from jax.interpreters import ad, xla

        def f(x, y):
            trace = jax.extend.core.find_top_trace((x,))
            both = [isinstance(v, ad.JVPTracer) and v._trace.main is trace.main for v in (x * y, y)]
            print(both)
            return x * y

        jax.jvp(lambda x: f(x, 3.0), (2.0,), (1.0,))
        for table in (xla.canonicalize_dtype_handlers, jax.core.pytype_aval_mappings):
            class Mine: pass
            table[Mine] = table[np.ndarray]
            print(table[Mine](np.ones(2, np.float32)))
        """
    )
    assert out == ["[True, False]", "[1. 1.]", "float32[2]"]


def test_a_name_that_plait_has_not_is_said_to_be_missing():
    out = printed(
        """
        import plait.as_jax
        plait.as_jax.install()
        for program in (
            "import jax.nothing",
            "from jax import nothing",
            "from jax.numpy import nothing",
            "import jax; jax.nothing",
            "import jax.experimental.pallas",
            "from jax._src.nothing import more",
            "import jax; jax.runtime",
            "import jax; jax.core.program",
            "import jax; jax.transforms.jit",
        ):
            try:
                exec(program)
            except (ImportError, AttributeError) as error:
                print(type(error).__name__, error)
        """
    )
    names = (
        "jax.nothing",
        "jax.nothing",
        "jax.numpy.nothing",
        "jax.nothing",
        "jax.experimental.pallas",
        "jax._src.nothing",
        "jax.runtime",
        "jax.core.program",
        "jax.transforms",
    )
    assert [line.partition(" ")[2] for line in out] == [f"plait has no {n}" for n in names]
    assert [line.partition(" ")[0] for line in out][3] == "AttributeError"


def test_it_is_refused_once_the_real_jax_is_there(tmp_path):
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("real = True\n")
    out = printed(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import jax, plait.as_jax
        try:
            plait.as_jax.install()
        except RuntimeError as error:
            print(error)
        assert jax.real and sys.modules["jax"] is jax
        del sys.modules["jax"]
        plait.as_jax.install()  # also with the real one on the path
        import jax
        print(hasattr(jax, "real"), jax.vmap.__module__)
        plait.as_jax.uninstall()
        import jax
        print(jax.real)
        """
    )
    assert out[0] == "as_jax.install: the real jax is imported already"
    assert "python -m plait.as_jax" in "\n".join(out[:4])
    assert out[-2:] == ["False plait.transforms.vmap", "True"]


def test_the_command_runs_a_program_as_python_would(tmp_path):
    (tmp_path / "neighbour.py").write_text("import jax\nvalue = jax.numpy.float32(3)\n")
    (tmp_path / "program.py").write_text(
        textwrap.dedent(
            """
            import os, pickle, sys
            import jax, neighbour
            class Thing: pass
            print(__name__, os.path.basename(__file__), sys.argv[1:], neighbour.value)
            print(jax.vmap.__module__, type(pickle.loads(pickle.dumps(Thing()))).__name__)
            sys.exit(3)
            """
        )
    )
    done = python("-m", "plait.as_jax", "program.py", "--lr", "1", code=3, folder=tmp_path)
    first, second = done.stdout.splitlines()
    assert first == "__main__ program.py ['--lr', '1'] 3.0"
    assert second == "plait.transforms.vmap Thing"
    done = python("-m", "plait.as_jax", tmp_path / "program.py", code=3)
    assert done.stdout.startswith("__main__ program.py [] 3.0")
    done = python("-m", "plait.as_jax", "-m", "program", "x", code=3, folder=tmp_path)
    assert done.stdout.startswith("__main__ program.py ['x'] 3.0")
    assert "usage" in python("-m", "plait.as_jax", "-h").stdout
    assert "usage" in python("-m", "plait.as_jax", code=2).stdout
    assert "usage" in python("-m", "plait.as_jax", "-m", code=2).stderr


def test_switches_come_from_the_environment_as_in_jax():
    program = """
        import plait.as_jax
        plait.as_jax.install()
        import jax
        print(jax.numpy.arange(2).dtype, jax.device_count(), jax.config.jax_platforms)
    """
    given = {"PLAIT_NUM_CPU_DEVICES": "", "JAX_NUM_CPU_DEVICES": "3", "JAX_PLATFORMS": "cpu"}
    assert printed(program, JAX_ENABLE_X64="True", **given) == ["int64 3 cpu"]
    # plait's own variable wins.
    assert printed(program, JAX_ENABLE_X64="1", PLAIT_ENABLE_X64="0") == ["int32 2 None"]
    wrong = python("-c", textwrap.dedent(program), code=1, **{**given, "JAX_NUM_CPU_DEVICES": "x"})
    assert "JAX_NUM_CPU_DEVICES has a value that cannot be read" in wrong.stderr


def test_the_page_is_true():
    text = (ROOT / "docs" / "as_jax.md").read_text(encoding="utf-8")
    program, shown = re.search(r"```python\n(.*?)```\n```\n(.*?)```", text, re.S).groups()
    assert printed(program) == shown.splitlines()


# --- libraries


def run_library(name: str, *needed: str) -> list[str]:
    """What a program of tests/libraries prints on plait; skips if a library is not there."""
    for library in needed:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    quickly = {"PLAIT_DISABLE_MOST_OPTIMIZATIONS": "1"}
    return python("-m", "plait.as_jax", LIBRARIES / f"{name}.py", **quickly).stdout.splitlines()


def test_optax_trains_on_the_digits():
    out = [line.split() for line in run_library("optax_digits", "optax")]
    assert [name for name, _, _ in out][:3] == ["pmap", "adamw", "sgd"] and out[0][1] == "2"
    assert all(float(accuracy) > 0.9 for _, _, accuracy in out), out


def test_chex():
    out = run_library("chex_checks", "chex")
    assert out[0].startswith("refused:") and out[-1] == "variants: 4 0"


def test_equinox_trains_on_the_digits():
    out = run_library("equinox_digits", "equinox", "optax")
    assert float(out[0].split()[1]) > 0.9
    assert out[1:] == ["refused: True", "Linear("]


def test_flax_trains_on_the_digits():
    out = run_library("flax_digits", "flax", "optax")
    assert float(out[0].split()[1]) > 0.9
    assert out[1:] == ["tabulated True", "recurrent (2, 5, 16)"]
