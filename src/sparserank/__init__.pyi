"""The public names, for type checkers and completion.

Written by `make options` from the declarations in __init__.py: edit those."""

from sparserank.data.dataset import RankingDataset as RankingDataset
from sparserank.data.folds import query_folds as query_folds
from sparserank.data.joining import concatenate as concatenate
from sparserank.data.letor.reader import read_letor as read_letor
from sparserank.data.letor.writer import write_letor as write_letor
from sparserank.data.read import read_data as read_data
from sparserank.data.reading import Reading as Reading
from sparserank.data.store.convert import convert as convert
from sparserank.data.store.opening import open_store as open_store
from sparserank.data.synthetic import make_curved_ranking as make_curved_ranking
from sparserank.data.synthetic import make_ranking as make_ranking
from sparserank.data.trec import read_qrels as read_qrels
from sparserank.data.trec import read_run as read_run
from sparserank.data.trec import write_qrels as write_qrels
from sparserank.data.trec import write_run as write_run
from sparserank.evaluation import evaluate as evaluate
from sparserank.export.explanation import explain_query as explain_query
from sparserank.jobs.select import select as select
from sparserank.jobs.trees.compare import compare_with_trees as compare_with_trees
from sparserank.jobs.trees.select_for_trees import select_for_trees as select_for_trees
from sparserank.losses import SquaredHinge as SquaredHinge
from sparserank.metrics import parse_metric as parse_metric
from sparserank.model.model_file import load_model as load_model
from sparserank.model.ranking_model import RankingModel as RankingModel
from sparserank.objective import PairwiseObjective as PairwiseObjective
from sparserank.papers.measures import feature_importance as feature_importance
from sparserank.papers.measures import feature_similarity as feature_similarity
from sparserank.papers.rankers import FSMSVM as FSMSVM
from sparserank.papers.rankers import FenchelRank as FenchelRank
from sparserank.papers.rankers import FSMRank as FSMRank
from sparserank.papers.rankers import FSRank as FSRank
from sparserank.papers.rankers import GasRanker as GasRanker
from sparserank.papers.rankers import GreedyRankRLS as GreedyRankRLS
from sparserank.papers.rankers import Laporte2014 as Laporte2014
from sparserank.papers.rankers import RandomRanker as RandomRanker
from sparserank.papers.rankers import RankRLS as RankRLS
from sparserank.papers.rankers import RSRank as RSRank
from sparserank.papers.rankers import TGRank as TGRank
from sparserank.papers.rls import leave_query_out as leave_query_out
from sparserank.paths import PathResult as PathResult
from sparserank.paths import alpha_max as alpha_max
from sparserank.paths import fit_path as fit_path
from sparserank.paths import refit_on_support as refit_on_support
from sparserank.penalties import L1 as L1
from sparserank.penalties import MCP as MCP
from sparserank.penalties import SCAD as SCAD
from sparserank.penalties import ElasticNet as ElasticNet
from sparserank.penalties import Log as Log
from sparserank.penalties import Lp as Lp
from sparserank.penalties import Ridge as Ridge
from sparserank.penalties import parse_penalty as parse_penalty
from sparserank.rankers import RankSVM as RankSVM
from sparserank.rankers import SparseRanker as SparseRanker
from sparserank.rankers import SparseRankerCV as SparseRankerCV
from sparserank.selection.result import SelectionResult as SelectionResult
from sparserank.shards.scaling import FeatureScaling as FeatureScaling
from sparserank.shards.scaling import fit_scaling as fit_scaling
from sparserank.solvers import Fista as Fista
from sparserank.solvers import ProxNewton as ProxNewton
from sparserank.solvers import Reweighted as Reweighted
from sparserank.solvers import Stop as Stop
from sparserank.solvers import solve as solve

__version__: str
__all__: list[str]
_HOME: dict[str, str]
