"""The table: on the terminal as it grows, and as Markdown for docs/performance.md."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.table import Table
from rich.text import Text

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
HEADS = ("workload", "plait", "JAX", "ratio", "budget", "met")


def quantity(figure, unit):
    if unit == "B":
        return f"{figure / 2**20:,.0f} MiB"
    scale, name = next((pair for pair in SCALES if figure >= pair[0]), SCALES[-1])
    return f"{figure / scale:#.3g} {name}".replace(". ", " ")


def cells(comparison):
    workload = comparison.workload

    def figure(library):
        if library in comparison.errors:
            return comparison.errors[library]
        value = comparison.figure(library)
        return "" if value is None else quantity(value, workload.unit)

    ratio, budget, met = comparison.ratio, workload.budget, comparison.met
    return (
        workload.name,
        figure("plait"),
        figure("jax"),
        "" if ratio is None else f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.3f}",
        budget or "",
        {None: "", True: "yes", False: "no"}[met],
    )


def terminal_table(comparisons, caption=None):
    table = Table(title="plait and JAX, in turn", caption=caption)
    for head in HEADS:
        if head == "workload":
            table.add_column(head, overflow="fold")
        else:
            table.add_column(head, justify="right", no_wrap=True)
    group = None
    for comparison in comparisons:
        if group not in (None, comparison.workload.group):
            table.add_section()
        group = comparison.workload.group
        name, *figures, met = cells(comparison)
        colour = {"yes": "green", "no": "red"}.get(met, "")
        failed = [library in comparison.errors for library in ("plait", "jax")]
        for column, error in enumerate(failed):
            if error:
                figures[column] = Text(figures[column][:200], style="red", justify="left")
        table.add_row(name, *figures, Text(met, style=colour))
    return table


def markdown_table(comparisons):
    rows = [HEADS, ("---", *["---:"] * (len(HEADS) - 1))]
    rows += [cells(comparison) for comparison in comparisons]
    lines = ["| " + " | ".join(text.replace("|", "/") for text in row) + " |" for row in rows]
    return "\n".join(lines)


def machine():
    """One line on what the figures were taken on."""
    cpu = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line for line in information.read_text().splitlines() if "model name" in line]
        cpu = names[0].partition(":")[2].strip() if names else cpu

    def installed(package):
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"no {package}"

    packages = ", ".join(installed(package) for package in ("jax", "jaxlib", "numpy"))
    cores = len(os.sched_getaffinity(0))
    return f"{cpu}, {cores} cores, Python {platform.python_version()}, {packages}"


def write_markdown(path, comparisons):
    """Put the table between the marks of an existing file, or into a new one."""
    text = f"{BEGIN}\n{machine()}.\n\n{markdown_table(comparisons)}\n{END}"
    path = Path(path)
    old = path.read_text() if path.exists() else ""
    if BEGIN in old and END in old:
        before, _, rest = old.partition(BEGIN)
        text = before + text + rest.partition(END)[2]
    else:
        text += "\n"
    path.write_text(text)
