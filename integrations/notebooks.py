"""`python -m integrations.notebooks [NAME ...]`: run the notebooks of examples/ and store as text what cells show."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(cells: list[dict[str, Any]], space: dict[str, Any]) -> list[str]:
    """Run the code cells in the present folder; what each shows: what it prints, and the value of its last line."""
    import pandas as pd

    pd.set_option("display.width", 110, "display.max_columns", None)
    shown = []
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(ast.Module(body, []), "cell", "exec"), space)
            value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), space)
            if value is not None:
                print(value if isinstance(value, str) else repr(value))
        shown.append(printed.getvalue())
    return shown


def store(file: Path) -> None:
    """Run a notebook in a folder of its own, and write what its cells show into it."""
    notebook = json.loads(file.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shown = run(notebook["cells"], {})
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = shown.pop(0)
            stream = {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
            cell["outputs"] = [stream] if text else []
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    for file in sorted(EXAMPLES.glob("*.ipynb")):
        if len(sys.argv) < 2 or file.stem in sys.argv[1:]:
            try:
                store(file)
            except Exception:
                traceback.print_exc()
                return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
