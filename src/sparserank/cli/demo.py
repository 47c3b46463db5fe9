"""`sparserank demo`: the main job on a synthetic problem whose answer is known."""

from __future__ import annotations

from pathlib import Path

LINES = 27  # lines of the final output, enough for one line per selected feature (six)

HELP = """Generate a synthetic ranking problem whose true features are known, run 'select' on it, and report whether \
it found them.

[bold]Example[/bold]

  sparserank demo --out demo-run
"""


def run(*, out: Path = Path("demo-run"), random_state: int = 0, n_threads: int | None = None) -> None:
    import numpy as np

    import sparserank as sr
    from sparserank.cli.screen import note, progress_bar, say
    from sparserank.cli.selection_tables import show_selection
    from sparserank.data.letor.writer import write_letor
    from sparserank.datasets import make_ranking
    from sparserank.errors import SparserankError
    from sparserank.files import atomic_write
    from sparserank.workdir.directory import WorkDirectory

    problem = make_ranking(
        n_queries=200, n_features=40, n_informative=6, n_redundant=6, noise=0.3, random_state=random_state
    )
    data = problem.data
    with WorkDirectory(out, "demo"):
        parts = {"train": np.arange(0, 100), "valid": np.arange(100, 140), "test": np.arange(140, 200)}
        for name, queries in parts.items():
            write_letor(data.take_queries(queries), out / f"{name}.txt")
        names = out / "features.txt"
        with atomic_write(names) as lines:
            lines.writelines(f"{n}\n" for n in data.names)
        note(
            f"{data.n_queries} queries, {data.n_docs} documents, {data.n_features} features. The labels were "
            f"generated from {len(problem.support)} of the features; {len(problem.redundant)} are noisy copies of "
            "these, and the others are noise."
        )
        with progress_bar("paths") as progress:
            result = sr.select(
                *(str(out / f"{name}.txt") for name in parts),
                out=out / "run",
                restart=True,
                n_threads=n_threads,
                progress=progress,
                feature_names=names,
            )
    show_selection(result, str(out / "run"), LINES - 1, k=False)
    selected = set(result.model.support.tolist())
    true = set(problem.support.tolist())

    def names_of(features: set[int]) -> str:
        return ", ".join(data.names[j] for j in sorted(features)) or "none"

    if selected != true:
        raise SparserankError(
            "the selected features are not exactly those from which the labels were generated: missed "
            f"{names_of(true - selected)}; also kept {names_of(selected - true)}."
        )
    say(f"sparserank found exactly the {len(true)} features from which the labels were generated ({names_of(true)}).")
