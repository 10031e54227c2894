"""plait.debug and plait.profiler: what they print, show and say."""

from __future__ import annotations

import logging
import os
import pathlib
import sys

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import debug, lax
from plait.config import override
from plait.debug.shardings import ShardingPicture
from plait.errors import ArgumentError, ArgumentTypeError, ConcretizationTypeError
from plait.sharding import NamedSharding, PartitionSpec, make_mesh

P = PartitionSpec


@pytest.fixture
def printed(capsys):
    def take() -> str:
        jax.effects_barrier()
        return capsys.readouterr().out

    return take


def both_forms(f):
    return pytest.mark.parametrize("form", ["fused", "gang"])(f)


# --- print


def test_print_is_format(printed):
    x = jnp.arange(3.0)
    debug.print("a {} {x:.3f} {y!r:>5}", x, x=1.0, y="s")
    debug.print("{0} {0} {1[2]} {k.shape} {w:{width}}", 1, x, k=x, w=2, width=4)
    debug.print("{{}} {} {}", {"a": x, "b": (1, None)}, True)
    assert printed() == (
        "a [0. 1. 2.] 1.000   's'\n"
        "1 1 2.0 (3,)    2\n"
        "{} {'a': Array([0., 1., 2.], dtype=float32), 'b': (Array(1, dtype=int32, weak_type=True), "
        "None)} True\n"
    )


def test_print_while_a_program_runs(printed):
    @jax.jit
    def f(x, n):
        debug.print("x={x} n={n:d} {}", "text", x=x, n=n)

    assert f(1.5, 3) is None
    assert printed() == "x=1.5 n=3 text\n"
    f(2.5, 4)
    assert printed() == "x=2.5 n=4 text\n"


def test_print_row_by_row(printed):
    jax.vmap(lambda x: debug.print("v {} {}", x, 3))(jnp.arange(3.0))
    assert printed() == "v 0.0 3\nv 1.0 3\nv 2.0 3\n"


def test_the_format_is_checked_where_it_is_traced():
    def message(*args, **kwargs):
        with pytest.raises(ArgumentError) as caught:
            jax.eval_shape(lambda x: debug.print(*args, x=x, **kwargs), 1.0)
        return str(caught.value)

    assert "asks for argument 1, 'y', which is not given" in message("{} {} {x} {y}", 0)
    text = message("{x}", 5, z=3)
    assert "does not use argument 0, 'z'" in text
    assert "f-string" in text and "test_debug.py" in text
    with pytest.raises(ArgumentTypeError, match="a string"):
        debug.print(3)


def test_the_check_can_be_skipped(printed):
    debug.print("{x}", x=1, y=2, skip_format_check=True)
    assert printed() == "1\n"


@pytest.mark.parametrize("disable", [False, True])
def test_lanes_and_devices_have_names(printed, disable):
    def f(x):
        debug.print("{x} {lane} {device}", x=x)
        debug.print("hello", lane=True)

    with override(pmap_form="fused"), jax.disable_jit(disable):
        jax.pmap(f, axis_name="i")(jnp.arange(2.0))
    lines = printed().splitlines()
    order = [0, 2, 1, 3] if disable else [0, 1, 2, 3]
    assert [lines[k] for k in order] == [
        "0.0 0 cpu:0",
        "1.0 1 cpu:1",
        "[i=0 cpu:0] hello",
        "[i=1 cpu:1] hello",
    ]


@both_forms
def test_lanes_of_devices_and_of_maps_in_maps(printed, form):
    with override(pmap_form=form):
        devices = jax.devices()[::-1][:2]
        jax.pmap(lambda x: debug.print("x", lane=True), devices=devices)(jnp.arange(4.0))
        assert sorted(printed().splitlines()) == [
            "[lane 0 cpu:7] x",
            "[lane 1 cpu:7] x",
            "[lane 2 cpu:6] x",
            "[lane 3 cpu:6] x",
        ]

        def outer(x):
            def inner(y):
                debug.print("inner", lane=True)
                debug.print("{lane} {device}")

            return jax.pmap(inner, axis_name="j")(x)

        jax.pmap(outer, axis_name="i")(jnp.zeros((2, 3)))
    lines = sorted(printed().splitlines())
    assert lines[:6] == [f"({i}, {j}) cpu:{3 * i + j}" for i in range(2) for j in range(3)]
    assert lines[6] == "[i=0 j=0 cpu:0] inner"


def test_a_field_named_lane_may_be_the_users(printed):
    debug.print("{lane}", lane=7)
    jax.jit(lambda x: debug.print("{lane} {device} {}", x))(1)
    assert printed() == "7\n0 cpu:0 1\n"


def test_log(caplog):
    with caplog.at_level(logging.INFO, logger="plait"):
        jax.jit(lambda x: debug.log("x is {}", x))(2.0)
        jax.effects_barrier()
    assert caplog.messages == ["x is 2.0"]


def test_callback_is_checked_and_partial():
    with pytest.raises(ArgumentTypeError, match="must be a function, not int"):
        debug.callback(3)
    seen = []
    debug.callback(lambda x, *, k: seen.append((float(x), k)), 1, k="static")
    debug.callback()(seen.append, "one")
    assert seen == [(1.0, "static"), "one"]


# --- breakpoint


def test_breakpoint_where_values_are_known(monkeypatch):
    stopped = []
    monkeypatch.setattr(sys, "breakpointhook", lambda *a, **k: stopped.append(1))
    debug.breakpoint()
    jax.grad(lambda x: (debug.breakpoint(), x * x)[1])(1.0)
    jax.vmap(lambda x: (debug.breakpoint(), x)[1])(jnp.ones(2))
    with jax.disable_jit():
        jax.jit(lambda x: (debug.breakpoint(), x)[1])(1.0)
        jax.pmap(lambda x: (debug.breakpoint(), x)[1])(jnp.ones(2))
    assert len(stopped) == 6


def test_breakpoint_in_a_trace():
    with pytest.raises(ConcretizationTypeError) as caught:
        jax.jit(lambda x: debug.breakpoint())(1.0)
    text = str(caught.value)
    assert "being traced" in text and "jit of <lambda>" in text
    assert "disable_jit" in text and "test_debug.py" in text


# --- shardings


def grid(*sizes):
    return make_mesh(sizes, tuple("abc"[: len(sizes)]))


def test_a_picture_of_rows_and_columns():
    picture = str(ShardingPicture((8, 4), NamedSharding(grid(2, 2), P("a", "b"))))
    assert picture == (
        "┌─────────┬─────────┐\n"
        "│         │         │\n"
        "│  CPU 0  │  CPU 1  │\n"
        "│         │         │\n"
        "├─────────┼─────────┤\n"
        "│         │         │\n"
        "│  CPU 2  │  CPU 3  │\n"
        "│         │         │\n"
        "└─────────┴─────────┘"
    )


@pytest.mark.parametrize(
    ("shape", "spec", "cells"),
    [
        ((), P(), [["CPU 0,1,2,3"]]),
        ((8,), P("a"), [["CPU 0,1", "CPU 2,3"]]),
        ((8,), P(("a", "b")), [["CPU 0", "CPU 1", "CPU 2", "CPU 3"]]),
        ((8, 4), P(None, "b"), [["CPU 0,2", "CPU 1,3"]]),
        ((8, 4), P("b"), [["CPU 0,2"], ["CPU 1,3"]]),
        ((4, 2, 2), P("a", None, "b"), [["CPU 0", "CPU 1"], ["CPU 2", "CPU 3"]]),
    ],
)
def test_cells_of_pictures(shape, spec, cells):
    picture = ShardingPicture(shape, NamedSharding(grid(2, 2), spec))
    assert picture.rows == cells
    assert picture.note == ("axis 0 down, axis 2 across" if len(shape) == 3 else "")


def test_three_split_axes_are_a_list():
    picture = ShardingPicture((2, 2, 2), NamedSharding(grid(2, 2, 2), P("a", "b", "c")))
    assert len(picture.rows) == 8
    assert picture.rows[5] == ["[1:2, 0:1, 1:2]", "CPU 5"]


def test_html_and_colors():
    sharding = NamedSharding(grid(2, 2), P("a", "b"))
    page = ShardingPicture((4, 4), sharding)._repr_html_()
    assert page.count("<td") == 4 and "CPU 3" in page and "background:#" in page
    plain = ShardingPicture((4, 4), sharding, use_color=False)._repr_html_()
    assert "background" not in plain
    gray = ShardingPicture((4, 4), sharding, color_map=lambda k: (k, k, k, 1.0))
    assert "background:#ffffff" in gray._repr_html_()


def test_a_terminal_gets_colors():
    from rich.console import Console

    console = Console(force_terminal=True, color_system="truecolor", width=60, record=True)
    with console.capture() as captured:
        console.print(ShardingPicture((4,), NamedSharding(grid(4), P("a"))))
    assert "CPU 3" in captured.get() and "\x1b[" in captured.get()


def test_visualize(printed):
    x = jax.pmap(lambda x: x)(jnp.zeros((2, 3)))
    debug.visualize_array_sharding(x)
    text = printed()
    assert "CPU 0" in text and "CPU 1" in text and "\x1b" not in text
    debug.visualize_sharding((4,), NamedSharding(grid(2), P("a")), min_width=20)
    assert "─" * 20 in printed()
    jax.jit(lambda x: debug.visualize_array_sharding(x + 1))(jnp.ones(3))
    assert "CPU 0" in printed()
    with pytest.raises(ArgumentTypeError, match="a sharding"):
        debug.visualize_sharding((4,), "rows")


def test_in_a_notebook_it_is_displayed(monkeypatch, printed):
    import types

    shown = []
    shell = types.SimpleNamespace(kernel=object())
    display = types.ModuleType("IPython.display")
    display.display = shown.append
    notebook = types.ModuleType("IPython")
    notebook.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    debug.visualize_sharding((4,), NamedSharding(grid(2), P("a")))
    assert "<table" in shown[0]._repr_html_()
    assert printed() == ""


def test_inspect_array_sharding():
    found = []
    x = jax.pmap(lambda x: x)(jnp.zeros(2))
    debug.inspect_array_sharding(x, callback=found.append)
    assert found.pop() == x.sharding
    f = jax.jit(jax.grad(lambda x: (debug.inspect_array_sharding(x, callback=found.append), x)[1]))
    for _ in range(2):
        f(1.0)
    assert len(found) == 1 and found[0].device_set == {jax.devices()[0]}
    with override(pmap_form="gang"), pytest.warns(UserWarning, match="not decided yet"):

        @jax.jit
        def g(x):
            debug.inspect_array_sharding(x + 1, callback=found.append)
            return jax.pmap(lambda x: x)(x)

        g(jnp.zeros(2))
    with pytest.raises(ArgumentTypeError, match="a function"):
        debug.inspect_array_sharding(x, callback=3)


# --- show_variance


def loss(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


def step(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    grads = lax.pmean(grads, "i")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


PARAMS = {"w": np.ones(3, np.float32), "b": np.zeros((), np.float32)}
X, Y = np.ones((4, 5, 3), np.float32), np.ones((4, 5), np.float32)


def rows_of(report, heading):
    (section,) = [s for s in report.sections if s.heading.startswith(heading)]
    return [tuple(row) for row in section.rows]


def test_show_variance():
    report = debug.show_variance(step, PARAMS, X, Y, in_axes=(None, 0, 0), axis_name="i")
    rows = rows_of(report, "step, mapped along axis 'i' of size 4")
    assert rows[0] == ("a:f32[]", "equal", "argument params['b']")
    assert rows[2] == ("c:f32[5,3]", "varies over i", "argument x")
    sums = [row for row in rows if "psum" in row[0]]
    assert [row[1] for row in sums] == ["equal", "equal"]
    assert all("test_debug.py" in row[2] and "in step" in row[2] for row in sums)
    assert [row[1:] for row in rows[-3:]] == [
        ("equal", "result[0]['b']"),
        ("equal", "result[0]['w']"),
        ("varies over i", "result[1], since the argument x"),
    ]
    assert "varies over i" in str(report) and "<td" in report._repr_html_()
    same = debug.show_variance(jax.pmap(step, "i", in_axes=(None, 0, 0)), PARAMS, X, Y)
    assert rows_of(same, "step") == rows


def test_show_variance_inside_regions_and_compiled_functions():
    def f(x):
        def body(c, k):
            return c + lax.psum(x, "i"), k

        return lax.scan(body, 0.0, jnp.arange(3))[0], lax.axis_index("i")

    report = debug.show_variance(
        jax.jit(jax.pmap(f, axis_name="i")), jax.ShapeDtypeStruct((2,), jnp.float32)
    )
    rows = rows_of(report, "f, mapped")
    (inside,) = [row for row in rows if "psum" in row[0]]
    assert inside[0].startswith("    ") and inside[1] == "equal"
    assert "since axis_index at test_debug.py" in rows[-1][2]
    assert rows[-2][1] == "equal"
    with pytest.raises(ArgumentError, match="no pmap inside"):
        debug.show_variance(jax.jit(lambda x: x), 1.0)


def test_show_variance_says_what_would_be_refused():
    report = debug.show_variance(
        lambda x: lax.cond(x > 0, lambda: lax.psum(x, "i"), lambda: x), jnp.ones(2), axis_name="i"
    )
    assert "The map is refused. psum: only some positions" in str(report)


# --- explain


@both_forms
def test_explain_a_training_step(form):
    with override(pmap_form=form):
        f = jax.pmap(step, axis_name="i", in_axes=(None, 0, 0), out_axes=(None, 0))
        page = debug.explain(f)(PARAMS, X, Y)
    how = dict(rows_of(page, "How it runs"))
    assert how["form"].startswith(form)
    assert how["map"] == "'i' of size 4: 1 lane on each of 4 devices"
    arguments = {row[0]: row[1:] for row in rows_of(page, "Arguments")}
    assert arguments["x"][:2] == ("float32[4,5,3]", "float32[1,5,3]")
    assert arguments["params['w']"][:2] == ("float32[3]", "float32[3]")
    assert "cop" in arguments["params['w']"][2]
    results = {row[0]: row[1:] for row in rows_of(page, "Results")}
    assert results["result[1]"][:2] == ("float32[4]", "float32[1]")
    collectives = rows_of(page, "Collectives")
    assert [row[:5] for row in collectives] == [
        ("psum", "'i'", "float32[]", "4 B", "once"),
        ("psum", "'i'", "float32[3]", "12 B", "once"),
    ]
    assert all("test_debug.py" in row[5] for row in collectives)
    work = dict(rows_of(page, "Estimates of XLA"))
    assert {"operations", "arguments", "results", "temporaries"} <= set(work)
    assert str(page).startswith("pmap of step (test_debug.py:")
    assert page._repr_html_().count("<table>") == 5


def test_explain_counts_rounds_and_says_what_is_stored_once():
    def f(x, y):
        def body(c, k):
            return c + lax.pmax(x, "i"), lax.psum(y, "i")

        return lax.scan(body, x * 0, jnp.arange(3))[1], lax.psum(y, "i")

    with override(pmap_form="fused"):
        g = jax.pmap(f, axis_name="i")
        page = debug.explain(g)(jnp.ones(16), jnp.ones((16, 2)))
        assert {row[4] for row in rows_of(page, "Collectives")} == {"once", "3 times"}
        assert rows_of(page, "Results")[1][3] == "equal in all lanes: stored once"
        once = g(jnp.ones(16), jnp.ones((16, 2)))[1]
        again = debug.explain(jax.pmap(lambda y: y + 1))(once)
        assert "stored once" in rows_of(again, "Arguments")[0][3]
    assert "2 lanes on each of 8 devices" in str(page)


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_explain_nested_maps(form):
    def nest(f, *names):
        for name in names:
            f = jax.pmap(f, axis_name=name)
        return f

    with override(pmap_form=form):
        page = debug.explain(nest(lambda x: lax.psum(x, "b"), "b", "a"))(jnp.ones((2, 12)))
        assert [row[1] for row in rows_of(page, "How it runs")[1:]] == [
            "'a' of size 2: 1 lane on each of 2 devices",
            "'b' of size 12: 3 lanes on each of 4 devices, inside 'a'",
        ]
        assert rows_of(page, "Arguments")[0][2] == "float32[1,3]"
        assert rows_of(page, "Results")[0][2] == "float32[1,3]"
        page = debug.explain(nest(lambda x: lax.psum(x, ("a", "b")), "b", "a"))(jnp.ones((8, 3)))
        assert "'b' of size 3: 3 lanes on one device, inside 'a'" in str(page)
        assert rows_of(page, "Arguments")[0][2] == "float32[1,3]"
        page = debug.explain(jax.vmap(nest(lambda x: x, "b")))(jnp.ones((3, 2)))
        assert str(page).startswith("jit of <lambda> (test_debug.py:")


def test_explain_donation_and_plain_functions():
    page = debug.explain(jax.jit(lambda a, b: a + b.sum(), donate_argnums=(0, 1)))(
        jnp.ones(3), jnp.ones(5)
    )
    a, b = rows_of(page, "Arguments")
    assert a[3] == "donated: its memory becomes a result's"
    assert b[3] == "donated in vain: no result takes its memory"
    assert "of these in the memory of arguments" in str(page)

    def f(a):
        debug.print("{}", a)
        return a

    page = debug.explain(f)(jax.ShapeDtypeStruct((4,), jnp.float32))
    how = dict(rows_of(page, "How it runs"))
    assert how == {"form": "one program on cpu:0", "callbacks": "1, into Python"}
    assert [s.note for s in page.sections if s.heading == "Collectives"] == ["none"]


# --- names and profiles


def names_in(f, *args):
    return [e.source.scope for e in jax.jit(f).lower(*args).program.equations]


def test_named_scope_stands_in_the_program():
    @jax.named_call
    def attention(x):
        with jax.named_scope("inner"):
            x = x * 2
        return x + 1

    @jax.named_scope("block")
    def f(x):
        return -attention(x)

    assert names_in(f, 1.0) == ["block/attention/inner/", "block/attention/", "block/"]
    text = jax.jit(jax.grad(lambda x: f(jnp.sin(x)))).lower(1.0).compile().as_text()
    assert "block/attention" in text
    assert names_in(jax.named_call(lambda x: x + 1, name="other"), 1.0) == ["other/"]
    with pytest.raises(ArgumentTypeError, match="a string"):
        jax.named_scope(3)


def test_a_scope_around_a_loop_names_its_body():
    def f(x):
        with jax.named_scope("outer"):
            return lax.fori_loop(0, 3, lambda k, x: jnp.cosh(x), x)

    text = jax.jit(f).lower(1.0).as_text()
    assert "/outer/cosh" in text


def test_profiler_traces(tmp_path: pathlib.Path):
    profiler = jax.profiler
    with profiler.trace(tmp_path):
        with profiler.StepTraceAnnotation("train", step_num=3):
            jnp.sin(jnp.ones(10)).block_until_ready()
        with profiler.TraceAnnotation("load", size=3) as span:
            span.set_metadata(more=1)
        assert profiler.annotate_function(lambda x: x + 1, name="add")(1) == 2
        assert profiler.TraceAnnotation.is_enabled()
        with pytest.raises(RuntimeError, match="recorded already"):
            profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match="no trace"):
        profiler.stop_trace()
    files = [f for _, _, found in os.walk(tmp_path) for f in found]
    assert any(f.endswith(".xplane.pb") for f in files)
    (pb,) = tmp_path.rglob("*.xplane.pb")
    assert b"train" in pb.read_bytes()


def test_memory_profile(tmp_path: pathlib.Path):
    x = jnp.ones(1000)
    jax.profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert (tmp_path / "memory.prof").stat().st_size > 50
    assert jax.profiler.ProfileOptions().host_tracer_level >= 0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = jax.profiler.nothing
    del x


def test_variance_of_a_long_body_stays_readable():
    def body(x, w):
        for _ in range(30):
            x = jnp.sin(x @ w) + lax.pmean(x, "batch")
            x = jnp.concatenate([x[:2], x[2:]])
            x = lax.scan(lambda c, t: (c * t, jnp.dot(c, c)), x, jnp.ones((3, 4)))[0]
        image = x.reshape(1, 1, 4, 1)
        return lax.conv_general_dilated(image, jnp.ones((1, 1, 3, 1)), (1, 1), "SAME").sum()

    report = jax.debug.show_variance(
        body, np.ones((4, 4)), np.ones((4, 4)), in_axes=(0, None), axis_name="batch"
    )
    (section,) = report.sections
    lines = str(report).splitlines()
    assert len(section.rows) > 200
    assert max(map(len, lines)) <= 130 and max(len(row[0]) for row in section.rows) > 130
    # Nothing is lost, and the other columns stand below each other.
    words = "".join(str(report).split())
    for row in section.rows:
        assert all("".join(cell[:40].split()) in words for cell in row)
    starts = {
        line.rindex("equal")
        for line in lines
        if line.rstrip().endswith("in body") and "  equal  " in line
    }
    assert len(starts) == 1
