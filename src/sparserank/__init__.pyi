"""The public names, for type checkers and completion; a test compares them with the declarations."""

from sparserank import datasets as datasets
from sparserank import errors as errors
from sparserank import losses as losses
from sparserank import papers as papers
from sparserank import penalties as penalties
from sparserank import solvers as solvers
from sparserank.data.combine import concatenate as concatenate
from sparserank.data.dataset import RankingDataset as RankingDataset
from sparserank.data.folds import query_folds as query_folds
from sparserank.data.letor.writer import write_letor as write_letor
from sparserank.data.read import read as read
from sparserank.data.run_reader import read_qrels as read_qrels
from sparserank.data.run_reader import read_run as read_run
from sparserank.data.runs import write_qrels as write_qrels
from sparserank.data.runs import write_run as write_run
from sparserank.data.store.convert import convert as convert
from sparserank.evaluation import Comparison as Comparison
from sparserank.evaluation import Evaluation as Evaluation
from sparserank.evaluation import compare_systems as compare_systems
from sparserank.evaluation import evaluate as evaluate
from sparserank.export.explanation import explain_query as explain_query
from sparserank.metrics import parse_metric as parse_metric
from sparserank.model.drift import drift as drift
from sparserank.model.fusion import FusionFormula as FusionFormula
from sparserank.model.in_words import in_words as in_words
from sparserank.model.ranking_model import RankingModel as RankingModel
from sparserank.model.size_models import load_model as load_model
from sparserank.paths import PathResult as PathResult
from sparserank.paths import alpha_max as alpha_max
from sparserank.paths import fit_path as fit_path
from sparserank.paths import refit_on_support as refit_on_support
from sparserank.rankers import SparseRanker as SparseRanker
from sparserank.rankers import SparseRankerCV as SparseRankerCV
from sparserank.selection.diff import diff as diff
from sparserank.selection.fuse import fuse as fuse
from sparserank.selection.fusion import FusionResult as FusionResult
from sparserank.selection.result import SelectionResult as SelectionResult
from sparserank.selection.select import select as select
from sparserank.shards.scaling import FeatureScaling as FeatureScaling
from sparserank.shards.scaling import fit_scaling as fit_scaling

__version__: str
__all__: list[str]
_HOME: dict[str, str]
_MODULES: tuple[str, ...]
