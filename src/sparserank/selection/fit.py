"""`fit_model`: fit one model at one strength or of one size, from data files to the content of a model file."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Unpack

from sparserank.data.dataset import RankingDataset
from sparserank.data.read import read_weighted_sources
from sparserank.data.suspects import names_in, warn_of_suspects
from sparserank.errors import ParameterError
from sparserank.losses import loss_name, parse_loss
from sparserank.model.ranking_model import RankingModel
from sparserank.model.training_record import VALUES, with_training_record
from sparserank.options import asked, values_of
from sparserank.options.paths import LINEAR_SCALINGS
from sparserank.options.selection import FIT, FitOptions
from sparserank.paths import SizedMaker, parse_maker
from sparserank.rankers.sparse_ranker import SparseRanker
from sparserank.selection.inputs import notes_of_side_weights, weighted
from sparserank.transforms import STEPS

OF_RANKER = {field.name for field in fields(SparseRanker)} & FIT.keys() - {"missing"}


@dataclass(frozen=True)
class FittedModel:
    """A fitted model, the ranker that fitted it, the training data, and the name of the penalty."""

    model: RankingModel
    ranker: SparseRanker
    data: RankingDataset
    label: str

    @property
    def by_size(self) -> bool:
        """True for paths by size, which have no strength."""
        return isinstance(self.ranker.penalty_, SizedMaker)

    @property
    def summary(self) -> dict[str, Any]:
        """Facts on the fit, for machine-readable output."""
        ranker = self.ranker
        return {
            "n_features": len(self.model.columns),
            "features": list(self.model.columns),
            "objective": float(ranker.objective_),
            "duality_gap": ranker.duality_gap_,
            "n_iter": ranker.n_iter_,
            "n_queries": self.data.n_queries,
            "n_docs": self.data.n_docs,
            **{name: value for name, value in self.model.metadata.items() if name != VALUES},
            **_strengths(ranker),
        }


def fit_model(train: Any, **options: Unpack[FitOptions]) -> FittedModel:
    """Fit one model.

    Parameters
        train     as in `select`
        options   parameters of SparseRanker, and the client and the reading options as in `select`
    Raises
        ParameterError   a parameter is out of its range; the message names it
        DataError        the data cannot be used
    """
    chosen = asked("fit", FIT, options)
    client = chosen["client"]
    ranker = SparseRanker(**values_of(OF_RANKER, chosen))
    try:
        ranker.check_parameters()
        source = {"train": train}
        in_place = client is not None and chosen["scaling"] in LINEAR_SCALINGS  # other scalings copy the features
        parts, weights = read_weighted_sources(source, chosen, to_store=["train"] if in_place else [])
        data = parts["train"]
        assert data is not None
        notes_of_side_weights(source, weights, chosen)
        data, _, weight = weighted(data, None, None, weights)
        warn_of_suspects(data, names_in(chosen["keep"], chosen["drop"]))
        ranker.fit_dataset(data, query_weight=weight, client=client)
    except ParameterError as e:  # the caller passed an option, not a ranker
        raise ParameterError(e.parameter, e.message, owner=e.owner.removeprefix("SparseRanker").lstrip(": ")) from e
    on_steps = ranker.penalty_.on_steps
    parameters = {
        "loss": ranker.penalty_.lowers or loss_name(parse_loss(chosen["loss"])),
        "transform": STEPS if on_steps else chosen["feature_transform"],
        "penalty": parse_maker(ranker._named_penalty).label,
        **_strengths(ranker),
        "r": ranker.r_,
    }
    metadata = {**vars(ranker.certificate_), "n_pairs": ranker.n_pairs_}
    model = replace(ranker.to_model(), parameters=parameters, metadata=metadata)
    if client is None:
        (model,) = with_training_record([model], data)
    return FittedModel(model, ranker, data, parse_maker(ranker._named_penalty).label)


def _strengths(ranker: SparseRanker) -> dict[str, float]:
    if isinstance(ranker.penalty_, SizedMaker):
        return {}
    return {"alpha": ranker.alpha_, "C_sum": ranker.C_sum_, "C_mean": ranker.C_mean_}
