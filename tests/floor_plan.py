"""The floor plan of `src/sparserank`: which room may import from which, and today's violations.

`test_imports.py` checks that every list here is exact. VIOLATIONS, TWO_WAY and CYCLES may only shrink: a change that
removes a violation from the source also deletes its entry here. Module names leave out the prefix `sparserank.`.
"""

from __future__ import annotations

# Rooms from top to bottom: a module imports from its own room and from rooms below it. A package includes its modules,
# unless another room names them. The rooms are those planned for 0.3; the modules are today's.
ROOMS = {
    "cli": "__main__ cli",
    "pages": "pages",
    "papers": "papers",
    "jobs": "jobs",
    "rankers": "rankers pipelines pyterrier",
    "selection": "selection",
    "crossval": "crossval",
    "evaluation": "evaluation",
    "export": "export",
    "model": "model",
    "paths": "paths",
    "solvers": "solvers warmup",
    "objective": "objective weighting",
    "curves": "curves",
    "shards": "shards",
    "data": "data",
    "runs": "runs",
    "transforms": "data.transforms",
    "losses": "losses",
    "penalties": "penalties",
    "metrics": "metrics",
    "reporting": "reporting",
    "ground": "sparserank _kernel_cache bounded defaults errors execution files grid lazy number_range quoting "
    "strict_json text weights",
}

# Upward imports, from module to module.
VIOLATIONS = {
    # The papers' figures reuse the helpers of the product's pages.
    ("papers.published.figures", "pages.selection_figures"),
    # The papers' rankers are exported by the package `rankers`.
    ("rankers", "papers.rankers.fenchel_rank"),
    ("rankers", "papers.rankers.fsm_rank"),
    ("rankers", "papers.rankers.greedy_rank_rls"),
    ("rankers", "papers.rankers.laporte2014"),
    ("rankers", "papers.rankers.random_ranker"),
    ("rankers", "papers.rankers.rank_rls"),
    ("rankers", "papers.rankers.truncated_gradient"),
    ("rankers", "papers.rankers.two_stage"),
    ("rankers.checks", "papers.rls.centring"),
    # Run directories are written next to the pages.
    ("selection.for_trees", "pages.trees_page"),
    ("jobs.select", "jobs.result_files"),
    # The engine and its results depend on the job's plan, defaults and run directory.
    ("selection.for_trees", "selection.plan"),
    ("crossval.trees", "defaults"),
    ("rankers.sparse_ranker_cv", "selection.plan"),
    ("crossval.folded_paths", "selection.plan"),
    ("crossval.fitting", "runs.work_store"),
    ("crossval.path_arrays", "selection.plan"),
    ("selection.result", "selection.plan"),
    ("jobs.test_comparison", "selection.plan"),
    ("crossval.checkpoints", "runs.work_store"),
    # Runs hash and describe data sets.
    ("runs.identity", "data.dataset"),
    ("runs.identity", "data.store.features"),
    ("selection.origin", "data.dataset"),
    # Transforms are applied to data sets and stores.
    ("data.transforms", "data.dataset"),
    ("data.transforms", "data.store.temporary"),
}

# Pairs of rooms that import from each other.
TWO_WAY = {
    ("crossval", "jobs"),
    ("data", "runs"),
    ("data", "transforms"),
    ("jobs", "selection"),
    ("pages", "selection"),
    ("papers", "rankers"),
}

# Import cycles: strongly connected components.
CYCLES = {
    "compare.judged reports.judged reports.trees_page",
    "data.temporary_store data.transforms",
    "model model_file",
    "objective weighting",
    "penalties.base penalties.l1",
}

# Permanent upward imports, from function to module: thin functions that import when they are called. They are not
# counted in the lists above.
THIN = {
    ("jobs.trees.files.write_comparison", "pages.trees_page"): "a job renders its page at the end",
    ("model.ranking_model.RankingModel.export", "export"): "shortcut for export.export(model)",
    ("model.ranking_model.RankingModel.from_pipeline", "pipelines"): "alternative constructor",
    ("selection.result.SelectionResult._repr_html_", "pages.notebook"): "display hook of notebooks",
    ("selection.result.SelectionResult.report", "pages.selection_page"): "shortcut for page.render_page(result)",
    ("selection.result.SelectionResult.save", "jobs.result_files"): "shortcut for files.write_results(result, folder)",
}

# Upward imports under `if TYPE_CHECKING:`, from module to module. None today.
FOR_TYPES: set[tuple[str, str]] = set()
