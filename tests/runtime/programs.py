"""StableHLO for the runtime's tests, and a child process for what needs one of its own."""

import os
import subprocess
import sys
import textwrap


def vector_program(body: str, n: int = 4, args: str = "%a", donated: str = "") -> str:
    """A program over float32[n] arguments `args` whose result is %r; `{T}` is their type."""
    kind = f"tensor<{n}xf32>"
    params = [
        f"{a}: {kind}" + (f" {{{donated}}}" * (donated != "" and i == 0))
        for i, a in enumerate(args.split())
    ]
    body = body.replace("{T}", kind)
    return (
        f"func.func public @main({', '.join(params)}) -> {kind} {{\n{body}\nreturn %r : {kind} }}"
    )


SINE = vector_program("%r = stablehlo.sine %a : {T}")
ADD = vector_program("%r = stablehlo.add %a, %b : {T}", args="%a %b")
ADD_DONATING = vector_program(
    "%r = stablehlo.add %a, %b : {T}", args="%a %b", donated="tf.aliasing_output = 0 : i32"
)


def psum_program(devices: int, n: int) -> str:
    """psum over all devices of float32[devices * n], each device holding n."""
    whole, part = f"tensor<{devices * n}xf32>", f"tensor<{n}xf32>"
    note = '{sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>}'
    return f"""module @psum attributes {{mhlo.num_partitions = {devices} : i32}} {{
sdy.mesh @mesh = <["i"={devices}]>
func.func public @main(%g: {whole} {note}) -> ({whole} {note}) {{
  %r = sdy.manual_computation(%g) in_shardings=[<@mesh, [{{"i"}}]>]
      out_shardings=[<@mesh, [{{"i"}}]>] manual_axes={{"i"}} (%a: {part}) {{
    %1 = "stablehlo.all_reduce"(%a) <{{
        replica_groups = dense<[{list(range(devices))}]> : tensor<1x{devices}xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        use_global_device_ids}}> ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %s = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %s : tensor<f32> }}) : ({part}) -> {part}
    sdy.return %1 : {part}
  }} : ({whole}) -> {whole}
  return %r : {whole} }} }}"""


def callback_program(in_type: str, out_type: str) -> str:
    """A program of one argument that calls host callback 0."""
    results = f"-> {out_type}" if out_type else ""
    end = f"return %r : {out_type}" if out_type else "return"
    bind = "%r = " if out_type else ""
    return f"""func.func public @main(%a: {in_type}) {results} {{
  {bind}"stablehlo.custom_call"(%a) <{{call_target_name = "xla_ffi_python_cpu_callback",
      api_version = 4 : i32, backend_config = {{index = 0 : ui64}}, has_side_effect = true}}>
      : ({in_type}) -> {out_type or "()"}
  {end} }}"""


def child(code: str, *, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own, with extra environment variables."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PLAIT_", "XLA_FLAGS"))}
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=root,
        env={**clean, "PYTHONPATH": os.pathsep.join((root, os.path.dirname(__file__))), **env},
    )


def output_of(code: str, *, timeout: float = 120, **env: str) -> str:
    """What Python code prints in a process of its own; it has to end well."""
    done = child(code, timeout=timeout, **env)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()
