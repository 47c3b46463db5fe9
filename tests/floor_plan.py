"""The floor plan of `src/sparserank`: which room may import from which, and today's violations.

`test_imports.py` checks that every list here is exact. VIOLATIONS, TWO_WAY and CYCLES may only shrink: a change that
removes a violation from the source also deletes its entry here. Module names leave out the prefix `sparserank.`.
"""

from __future__ import annotations

# Rooms from top to bottom: a module imports from its own room and from rooms below it. A package includes its modules,
# unless another room names them. The rooms are those planned for 0.3; the modules are today's.
ROOMS = {
    "cli": "__main__ cli",
    "pages": "reports.comparison reports.figures reports.files reports.judged reports.notebook reports.page "
    "reports.selection reports.trees_page",
    "papers": "experiments papers rls selection.filters selection.measures losses._importance_kernels "
    "rankers.fenchel_rank rankers.fsm_rank rankers.greedy_rank_rls rankers.laporte2014 rankers.random_ranker "
    "rankers.rank_rls rankers.truncated_gradient rankers.two_stage",
    "jobs": "compare selection.defaults selection.inputs selection.job selection.plan selection.select selection.store",
    "rankers": "rankers pipelines pyterrier",
    "selection": "compare.judged compare.result selection.drawing selection.queries selection.result "
    "selection.statements",
    "crossval": "selection compare.trees",
    "evaluation": "evaluation",
    "export": "export explanation",
    "model": "model model_file",
    "paths": "paths grid",
    "solvers": "solvers warmup",
    "objective": "objective weighting",
    "curves": "curves",
    "shards": "shards data.scaling",
    "data": "data",
    "runs": "runs",
    "transforms": "data.transforms",
    "losses": "losses",
    "penalties": "penalties",
    "metrics": "metrics",
    "reporting": "reports",
    "ground": "sparserank _kernel_cache bounded errors execution files lazy number_range quoting strict_json text "
    "weights",
}

# Upward imports, from module to module.
VIOLATIONS = {
    # The papers' figures reuse the helpers of the product's pages.
    ("experiments.figures", "reports.figures"),
    # The papers' rankers are exported by the package `rankers`.
    ("rankers", "rankers.fenchel_rank"),
    ("rankers", "rankers.fsm_rank"),
    ("rankers", "rankers.greedy_rank_rls"),
    ("rankers", "rankers.laporte2014"),
    ("rankers", "rankers.random_ranker"),
    ("rankers", "rankers.rank_rls"),
    ("rankers", "rankers.truncated_gradient"),
    ("rankers", "rankers.two_stage"),
    ("rankers.checks", "rls.centring"),
    # Run directories are written next to the pages.
    ("compare.judged", "reports.trees_page"),
    ("selection.select", "reports.files"),
    # The engine and its results depend on the job's plan, defaults and run directory.
    ("compare.judged", "selection.plan"),
    ("compare.trees", "selection.defaults"),
    ("rankers.sparse_ranker_cv", "selection.plan"),
    ("selection.candidates", "selection.plan"),
    ("selection.fitting", "selection.store"),
    ("selection.packed", "selection.plan"),
    ("selection.result", "selection.plan"),
    ("selection.rivals", "selection.plan"),
    ("selection.unfinished", "selection.store"),
    # Runs hash and describe data sets.
    ("runs.identity", "data.dataset"),
    ("runs.identity", "data.stored"),
    ("runs.origin", "data.dataset"),
    # Transforms are applied to data sets and stores.
    ("data.transforms", "data.dataset"),
    ("data.transforms", "data.temporary_store"),
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
    ("compare.files.write_comparison", "reports.trees_page"): "a job renders its page at the end",
    ("model.RankingModel.export", "export"): "shortcut for export.export(model)",
    ("model.RankingModel.from_pipeline", "pipelines"): "alternative constructor",
    ("selection.result.SelectionResult._repr_html_", "reports.notebook"): "display hook of notebooks",
    ("selection.result.SelectionResult.report", "reports.page"): "shortcut for page.render_page(result)",
    ("selection.result.SelectionResult.save", "reports.files"): "shortcut for files.write_results(result, folder)",
}

# Upward imports under `if TYPE_CHECKING:`, from module to module. None today.
FOR_TYPES: set[tuple[str, str]] = set()
