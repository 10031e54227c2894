"""Write the table of messages anew: python -m tests.errors.write. Read what changed."""

from __future__ import annotations

import os

os.environ.setdefault("PLAIT_NUM_CPU_DEVICES", "8")

from tests.errors.common import CASES, TABLE, described, raised


def main() -> None:
    parts = ["What plait says to a mistake. Written by tests/errors/write.py.\n"]
    for name, call in CASES.items():
        try:
            text = described(raised(call))
        except AssertionError as error:
            text = f"!!! {error}"
        parts.append(f"=== {name}\n{text}\n")
    TABLE.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
