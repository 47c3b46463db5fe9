"""The floor plan of `src/sparserank`: which room may import from which.

`test_imports.py` checks that every list here is exact. VIOLATIONS, TWO_WAY and CYCLES may only shrink: a change that
removes a violation from the source also deletes its entry here. Module names leave out the prefix `sparserank.`.
"""

# Rooms from top to bottom: a module imports from its own room and from rooms below it. A package includes its modules,
# unless another room names them.
ROOMS = {
    "cli": "__main__ cli",
    "report": "report",
    "papers": "papers",
    "selection": "selection pyterrier requests.selection",
    "rankers": "rankers pipelines",
    "crossval": "crossval",
    "evaluation": "evaluation",
    "export": "export",
    "model": "model",
    "paths": "paths",
    "solvers": "solvers warmup",
    "objective": "objective weighting",
    "bins": "bins",
    "shards": "shards",
    "data": "data datasets",
    "requests": "requests",
    "workdir": "workdir",
    "transforms": "transforms",
    "losses": "losses",
    "penalties": "penalties",
    "metrics": "metrics",
    "options": "options",
    "ground": "sparserank _kernel_cache arrow errors execution files lazy number_checks strict_json text",
}

# Nodes of the syntax tree of each room, which `test_code_nodes.py` counts: a change may only lower them, unless its
# issue grants more. Lines are free: one statement a line, a name for an intermediate value, a comment per step.
NODES = {
    "cli": 23_464,
    "report": 18_606,
    "papers": 16_680,
    "selection": 54_059,
    "rankers": 13_755,
    "crossval": 35_927,
    "evaluation": 18_121,
    "export": 17_139,
    "model": 14_259,
    "paths": 16_414,
    "solvers": 11_904,
    "objective": 3_933,
    "bins": 1_564,
    "shards": 26_653,
    "data": 73_564,
    "requests": 8_387,
    "workdir": 6_183,
    "transforms": 817,
    "losses": 7_065,
    "penalties": 12_322,
    "metrics": 5_447,
    "options": 7_219,
    "ground": 7_212,
}
CHARACTERS = {
    "report": 14_462,
}  # templates, style sheets and scripts
REPRODUCTION = 30_032  # nodes of `reproduction/`, beside the package

# Upward imports, from module to module.
VIOLATIONS: set[tuple[str, str]] = set()

# Pairs of rooms that import from each other.
TWO_WAY: set[tuple[str, str]] = set()

# Import cycles: strongly connected components.
CYCLES: set[str] = set()

# Permanent upward imports, from function to module: thin functions that import when they are called. They are not
# counted in the lists above.
THIN = {
    ("model.ranking_model.RankingModel.export", "export"): "shortcut for export.export(model)",
    ("model.ranking_model.RankingModel.from_pipeline", "pipelines"): "alternative constructor",
    ("selection.result.SelectionResult._repr_html_", "report.page"): "display hook of notebooks",
    ("selection.result.SelectionResult._repr_html_", "report.tables"): "display hook of notebooks",
    ("paths.result.PathResult.plot", "report.figures"): "shortcut for plot_path(path)",
    ("selection.result.SelectionResult.plot", "report.size_picture"): "shortcut for plot_sizes(result)",
    ("selection.result.ChoiceResult.render_page", "report.page"): "the page",
    ("selection.result.ChoiceResult.render_screen", "report.screen"): "the screen, as text",
    ("selection.fusion.FusionResult.render_screen", "report.fusion"): "the screen, as text",
    ("selection.fusion.FusionResult._repr_html_", "report.fusion"): "display hook of notebooks",
    ("selection.fusion.FusionResult._repr_html_", "report.page"): "display hook of notebooks",
    ("selection.fusion.FusionResult.render_page", "report.fusion"): "the page",
}

# Upward imports under `if TYPE_CHECKING:`, from module to module: declarations of options name the types of values.
FOR_TYPES = {
    ("options.fusion", "paths.makers"),
    ("options.fusion", "penalties.base"),
    ("options.paths", "losses.pairwise"),
    ("options.selection", "metrics.base"),
    ("options.selection", "model.ranking_model"),
    ("options.selection", "paths.makers"),
    ("options.selection", "penalties.base"),
    ("options.selection", "workdir.work"),
}
