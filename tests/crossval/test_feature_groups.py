"""Groups of features against loops over explicit pairs: penalties, paths, best k, costs paid once, the commands."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import sparserank as sr
from sparserank.crossval.feature_groups import groups_of, read_groups
from sparserank.data.letor.writer import write_letor
from sparserank.datasets import make_ranking
from sparserank.errors import DataError, DataFormatError, ParameterError
from sparserank.model.size_models import load_model
from sparserank.objective import PairwiseObjective
from sparserank.paths import BestK, PathPlan, fit_path_on, on_groups, parse_maker
from sparserank.penalties import L1, MCP, SCAD, ElasticNet, Log, Penalty, parse_penalty
from sparserank.penalties.groups import grouped
from sparserank.solvers import ProxNewton, Reweighted, solve
from sparserank.solvers.certificates import gap_safe_screen
from sparserank.solvers.lockstep import run
from sparserank.solvers.solution import Stop
from tests.oracles import feature_groups as oracle
from tests.oracles import pairs as pair_oracle
from tests.support.problems import iterate_at, small_problem

GROUPS = (2, 7, 2, 0, 7, 2)  # {0, 2, 5}, {1, 4}, {3}
COLUMNS = [[0, 2, 5], [1, 4], [3]]
COSTS = (1.0, 3.0, 1.0, 0.5, 3.0, 1.0)
PRICES = [1.0 * np.sqrt(3), 3.0 * np.sqrt(2), 0.5]
SIGNS = (0, 1, -1, 0, 0, 1)


def of_groups(of: type[Penalty] = L1, **rules) -> Penalty:
    return of(feature_groups=GROUPS, weights=COSTS, **rules)


@pytest.fixture(params=[0, 1, 2])
def data(request):
    return small_problem(request.param, n_queries=12, d=6)


def explicit(data):
    pairs = pair_oracle.pairs_of(data.relevance, data.query_ptr)
    return pair_oracle.pair_matrix(data.X, pairs), np.array([np.sqrt(v) for _, _, v in pairs])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("monotone", [None, SIGNS])
def test_value_and_prox_are_those_of_groups(seed, monotone):
    v = np.random.default_rng(seed).standard_normal(6)
    penalty = grouped(of_groups(alpha=0.4, monotone=monotone))
    own = np.where(np.array(monotone or [0] * 6) * v < 0, 0.0, v)
    assert penalty.value(own) == pytest.approx(0.4 * oracle.value(own, COLUMNS, PRICES))
    found = penalty.prox(v, 0.5)
    prices = [0.2 * p for p in PRICES]
    np.testing.assert_allclose(found, oracle.prox(v, COLUMNS, prices, monotone=monotone), atol=1e-12)
    searched = oracle.prox_by_search(v, COLUMNS, prices, monotone=monotone)
    values = [0.5 * ((u - v) ** 2).sum() + oracle.value(u, COLUMNS, prices) for u in (found, searched)]
    assert values[0] <= values[1] + 1e-9
    np.testing.assert_allclose(found, searched, atol=0.05)
    alone = L1(0.4, weights=COSTS, monotone=monotone).prox(v, 0.5)  # the wrong variant: every feature for itself
    assert np.abs(alone - found).max() > 0.02


@pytest.mark.parametrize("monotone", [None, SIGNS])
@pytest.mark.parametrize("seed", range(5))
def test_alpha_max_is_the_smallest_strength_that_holds_every_group(seed, monotone):
    v = np.random.default_rng(seed).standard_normal(6)
    penalty = grouped(of_groups(monotone=monotone))
    expected = oracle.smallest_strength(v, COLUMNS, PRICES, monotone=monotone)
    assert penalty.alpha_max(v) == pytest.approx(expected, rel=1e-9)
    assert not penalty.with_alpha(1.001 * expected).subdiff_distance(np.zeros(6), v).any()
    assert penalty.with_alpha(0.99 * expected).subdiff_distance(np.zeros(6), v).any()


@pytest.mark.parametrize("monotone", [None, SIGNS])
def test_convex_paths_reach_the_minimum_over_explicit_pairs(data, monotone):
    K, root = explicit(data)
    objective = PairwiseObjective(data)
    path = fit_path_on(objective, of_groups(monotone=monotone), n_alphas=6, alpha_min_ratio=0.05, tol=1e-9)
    assert path.penalty.label == "l1"
    assert set(path.statuses) == {"optimal"}
    assert path.gaps.max() < 1e-7
    for i in (1, 3, 5):
        alpha = path.alphas[i]
        best, u = oracle.minimum(K, root, COLUMNS, [alpha * p for p in PRICES], monotone, 4000)
        assert path.objectives[i] == pytest.approx(best, abs=1e-7)
        np.testing.assert_allclose(path.scaled_coef(i), u, atol=2e-3)
        if monotone is None:
            used = path.scaled_coef(i) != 0
            assert all(len(set(used[own])) == 1 for own in COLUMNS)  # whole groups
    plain = fit_path_on(objective, L1(weights=COSTS), alphas=path.alphas, tol=1e-9)
    assert np.abs(plain.objectives - path.objectives).max() > 1e-3  # the wrong variant


def test_screening_discards_no_group_in_use(data):
    objective = PairwiseObjective(data)
    penalty = on_groups(of_groups(), objective)
    top = penalty.alpha_max(objective.gradient_at_zero)
    discarded = 0
    for share in (0.8, 0.5, 0.2):
        own = penalty.with_alpha(share * top)
        w = solve(ProxNewton(), objective, own, stop=Stop(tol=1e-10, scale=1.0)).w
        for step in (0.0, 0.5, 0.95, 1.0):
            out = gap_safe_screen(objective, own, iterate_at(objective, own, step * w))
            assert not (out & (np.abs(w) > 1e-9)).any()
            discarded += int(out.sum())
    assert discarded > 0


@pytest.mark.parametrize("of", [MCP, SCAD, Log], ids=lambda p: p.name)
def test_concave_paths_are_stationary_and_take_groups_whole(data, of):
    objective = PairwiseObjective(data)
    path = fit_path_on(objective, of_groups(of), n_alphas=10, alpha_min_ratio=0.02)
    assert set(path.statuses) == {"stationary"}
    rng = np.random.default_rng(0)
    for i in range(len(path.alphas)):
        w = path.scaled_coef(i)
        penalty = on_groups(path.penalty.with_alpha(path.alphas[i]), objective)
        here = iterate_at(objective, penalty, w)
        assert here.value == pytest.approx(path.objectives[i])
        assert all(len(set((w != 0)[own])) == 1 for own in COLUMNS)
        for _ in range(30):
            step = np.where(w != 0, w + 1e-4 * rng.standard_normal(6), 0.0)
            assert iterate_at(objective, penalty, step).value >= here.value - 1e-7


def test_rules_of_features_hold_within_groups(data):
    """A dropped feature leaves its group and its size, a kept one pays for all of its group."""
    objective = PairwiseObjective(data)
    dropped = fit_path_on(objective, of_groups(drop=(2,)), n_alphas=5, alpha_min_ratio=0.01, tol=1e-9)
    assert not dropped.scaled_coefs[:, 2].any()
    assert dropped.scaled_coefs[-1, [0, 5]].all()
    K, root = explicit(data)
    smaller = [dropped.alphas[-1] * p for p in (np.sqrt(2), 3.0 * np.sqrt(2), 0.5)]
    without = np.delete(K, 2, axis=1)
    best, _ = oracle.minimum(without, root, [[0, 4], [1, 3], [2]], smaller, steps=4000)
    assert dropped.objectives[-1] == pytest.approx(best, abs=1e-7)
    kept = fit_path_on(objective, of_groups(keep=(1,)), n_alphas=5, alpha_min_ratio=0.01, tol=1e-9)
    assert kept.scaled_coefs[0, [1, 4]].all()
    assert not kept.scaled_coefs[0, [0, 2, 3, 5]].any()


def test_a_large_group_of_noise_does_not_keep_others_out_of_the_model():
    rng = np.random.default_rng(0)
    data = make_ranking(60, (8, 12), 40, n_informative=8, n_redundant=8, noise=0.5, random_state=2).data
    noise = rng.standard_normal((data.n_docs, 1)) + 1e-3 * rng.standard_normal((data.n_docs, 120))
    wide = data.replace_features(np.hstack([data.X, noise]))
    alone = run(BestK(k_max=8).path(PairwiseObjective(data), PathPlan()))
    feature_groups = (*range(40), *[40] * 120)
    ratio = PairwiseObjective(data).curvature.mean() / PairwiseObjective(wide).curvature.mean()
    maker = BestK(k_max=8, feature_groups=feature_groups, ridge=1e-3 * float(ratio))
    beside = run(maker.path(PairwiseObjective(wide), PathPlan()))
    np.testing.assert_allclose(beside.objectives, alone.objectives, atol=2e-3)


def test_what_does_not_vary_is_no_part_of_a_group(data):
    """A constant feature makes its group no dearer, and, kept, not free."""
    X = np.column_stack([data.X, np.ones((data.n_docs, 2))])
    wide = data.replace_features(X)
    plain = fit_path_on(PairwiseObjective(data), L1(feature_groups=GROUPS), n_alphas=5, alpha_min_ratio=0.05, tol=1e-9)
    more = L1(feature_groups=(*GROUPS, 2, 7), keep=(6,))
    beside = fit_path_on(PairwiseObjective(wide), more, n_alphas=5, alpha_min_ratio=0.05, tol=1e-9)
    np.testing.assert_allclose(beside.alphas, plain.alphas)
    np.testing.assert_allclose(beside.scaled_coefs[:, :6], plain.scaled_coefs, atol=1e-7)


def test_a_penalty_with_groups_is_a_value_and_is_never_solved_without_them(data):
    penalty = of_groups(MCP)
    assert parse_penalty(repr(penalty)) == penalty
    with pytest.raises(DataError, match="a problem with a grouped penalty cannot be solved directly; use"):
        solve(ProxNewton(), PairwiseObjective(data), penalty)
    with pytest.raises(DataError, match="feature_groups is not supported by lp, which supports weights, monotone"):
        sr.fit_path(data, sr.penalties.Lp(feature_groups=GROUPS))
    with pytest.raises(DataError, match="feature_groups must contain 6 values; got 2"):
        sr.fit_path(data, L1(feature_groups=(0, 0)))
    with pytest.raises(DataError, match="its features must have the same weight; feature f1 has the weight 1"):
        sr.fit_path(data, L1(feature_groups=(0, 0, 1, 1, 2, 2), weights=(1.0, 2.0, 1.0, 1.0, 1.0, 1.0)))
    with pytest.raises(DataError, match="Reweighted needs a penalty that is a sum over features"):
        solve(Reweighted(), PairwiseObjective(data), on_groups(penalty, PairwiseObjective(data)))
    for bad in ((0.5, 1), "ab", (-1, 0)):
        with pytest.raises(DataError, match="feature_groups"):
            L1(feature_groups=bad)


# -- the main job ----------------------------------------------------------------------------------------------------

QUICK = {"feature_transform": "none", "half_samples": 0, "n_alphas": 8, "cv": 3}


@pytest.fixture(scope="module")
def made():
    """Twelve features in four groups, the signals in two of them."""
    data = make_ranking(60, (8, 14), 12, n_informative=4, n_redundant=0, noise=0.5, random_state=3).data
    names = list(data.feature_names)
    signal = [n for n in names if n.startswith("signal")]
    noise = [n for n in names if not n.startswith("signal")]
    groups = "first first second second third third third fourth fourth fourth"
    return data, dict(zip(signal + noise[:6], groups.split(), strict=True))


def test_select_pays_for_a_group_once(made):
    data, of = made
    result = sr.select(data, feature_groups=of, costs={"first": 5.0, "fourth": 2.0}, **QUICK)
    names = data.feature_names
    price = {"first": 5.0, "second": 1.0, "third": 1.0, "fourth": 2.0}
    group_of = [of.get(n, n) for n in names]
    costs = {g: price.get(g, 1.0) for g in group_of}
    assert result.chosen.cost == oracle.total_cost(result.model.support, group_of, costs)
    assert result.chosen.cost < oracle.total_cost_by_feature(result.model.support, group_of, costs)
    possible = {oracle.total_cost(np.flatnonzero(m), group_of, costs) for m in np.ndindex(*[2] * 12)}
    for c in result.choice.candidates:
        assert c.penalty == "ridge" or c.cost in possible
    sizes = result.sizes().to_dict("records")
    assert [s["cost"] for s in sizes] == sorted({s["cost"] for s in sizes})
    within = [c for c in result.choice.candidates if c.penalty != "ridge" and result.choice.within_margin(c)]
    assert result.chosen.cost == min(c.cost for c in within)
    assert "at a total cost of" in result.sentences[0]
    assert any("cheapest" in sentence for sentence in result.sentences)
    content = result.to_json()
    in_use = {g["group"]: g for g in content["feature_groups"]}
    assert set(in_use) == {group_of[j] for j in result.model.support}
    for name, g in in_use.items():
        assert g["group_cost"] == price[name]
        assert g["features"] == [names[j] for j in result.model.support if group_of[j] == name]
    table = {r["group"]: r for r in result.feature_groups().to_dict("records")}
    assert table.keys() == in_use.keys()
    lost = {d["feature"]: d["zeroed"]["ndcg@10"]["cost"] for d in result.worth.features}
    for name, row in table.items():  # a group of one feature loses what that feature loses
        if len(row["features"]) == 1:
            assert row["ndcg@10 cost"] == pytest.approx(lost[row["features"][0]]), name


def test_a_budget_is_of_groups(made):
    data, of = made
    options = {**QUICK, "penalties": ["l1", "best_k"]}
    result = sr.select(data, feature_groups=of, budget=2.0, **options)
    assert result.chosen.cost <= 2.0
    assert result.chosen.n_features > 2
    with pytest.raises(ParameterError, match="needs costs or feature_groups"):
        sr.select(data, budget=2.0, **options)


def test_the_cheapest_is_tried_though_it_has_more_features():
    """Six weak features for 1, two strong ones at 40 each: matched by number of features the cheap model would be
    lost."""
    data = make_ranking(80, (8, 14), 10, n_informative=2, n_redundant=6, noise=0.4, random_state=1).data
    names = sorted(data.feature_names, key=lambda n: not n.startswith("signal"))
    of = dict.fromkeys(names[2:8], "cheap") | {names[0]: "a", names[1]: "b"}
    costs = {"cheap": 1.0, "a": 40.0, "b": 40.0}
    options = {**QUICK, "cv": 2, "penalties": ["best_k"], "feature_groups": of, "costs": costs}
    result = sr.select(data, margin=0.5, **options)
    assert result.chosen.cost == 1.0
    assert 1.0 in [s["cost"] for s in result.sizes().to_dict("records")]
    assert sr.select(data, budget=1.0, **options).chosen.cost == 1.0
    for c in result.choice.candidates:
        assert c.penalty == "ridge" or c.k >= c.cost  # matched by cost, in the folds too


@pytest.mark.slow
@pytest.mark.parametrize("penalty", ["mcp", "best_k"])
def test_small_models_are_found_behind_a_large_group_that_enters_first(penalty):
    data = make_ranking(60, (8, 14), 12, n_informative=8, n_redundant=0, noise=0.4, random_state=4).data
    signal = [n for n in data.feature_names if n.startswith("signal")][:5]
    rest = sorted((n for n in data.feature_names if n not in signal), key=lambda n: not n.startswith("signal"))
    of = dict.fromkeys(signal, "large") | {n: f"pair {i // 2}" for i, n in enumerate(rest)}
    options = {**QUICK, "n_alphas": 40, "penalties": penalty, "feature_groups": of, "relaxed": False}
    result = sr.select(data, k=3, **options)
    assert result.chosen.n_features == 2
    assert "within 3 features" in result.chosen.penalty
    cheap = sr.select(data, budget=1.0, costs={"large": 3.0}, **options)
    assert cheap.chosen.cost <= 1.0
    numbers = groups_of(of, None, data.feature_names).of_feature
    ranker = sr.SparseRanker(penalty=parse_maker(penalty, feature_groups=numbers), k=3).fit_dataset(data)
    assert np.count_nonzero(ranker.scaled_coef_) == 2
    threes = parse_maker(penalty, feature_groups=numbers[:4] * 3)
    with pytest.raises(DataError, match="every group has more than 1 features; the smallest has 3"):
        sr.SparseRanker(penalty=threes, k=1).fit_dataset(data)


def test_sums_of_costs_meet_a_budget_that_equals_them():
    feature_groups = groups_of({"a": "g", "b": "h", "c": "i"}, {"g": 0.1, "h": 0.2}, ("a", "b", "c"))
    assert feature_groups.cost(np.array([0, 1])) == 0.3
    assert feature_groups.beyond(None, 0.15) == (1, 2)
    assert feature_groups.beyond(1, None) == ()


def test_the_command_reads_groups_and_shows_their_worth(made, cli_here, tmp_path):
    data, of = made
    write_letor(data, tmp_path / "train.txt")
    names = [f"name {j}" for j in range(12)]
    (tmp_path / "names.txt").write_text("\n".join(names) + "\n")
    rename = dict(zip(data.feature_names, names, strict=True))
    lines = ["feature,group,cost", *(f"{rename[n]},{g},{3 if g == 'first' else ''}" for n, g in of.items())]
    (tmp_path / "groups.csv").write_text("\n".join(lines) + "\n")
    common = ["train.txt", "--feature-names", "names.txt", "--feature-groups", "groups.csv"]
    quick = ["--transform", "none", "--half-samples", "0", "--n-alphas", "8", "--folds", "3", "--penalty", "l1"]
    done = cli_here("select", *common, "--out", "run", *quick).done
    assert re.search(r"^group +cost  features  change if left out$", done.out, flags=re.MULTILINE)
    content = json.loads((tmp_path / "run/result.json").read_text())
    named = {rename[n]: g for n, g in of.items()}
    files = {"train": tmp_path / "train.txt", "feature_names": tmp_path / "names.txt"}
    same = sr.select(**files, feature_groups=named, costs={"first": 3.0}, penalties="l1", **QUICK)
    assert content["feature_groups"] == same.to_json()["feature_groups"]
    assert "Groups in use" in (tmp_path / "run/report.html").read_text()
    assert cli_here("fit", *common, "--penalty", "mcp", "--k", "6", "--out", "m.json").code == 0
    model = load_model(tmp_path / "m.json")
    used = {model.feature_names[j] for j in model.support}
    for g in set(named.values()):
        own = {n for n in named if named[n] == g}
        assert used.issuperset(own) or not used & own
    done = cli_here("fit", *common, "--penalty", "ridge", "--out", "r.json")
    assert (done.code, "--feature-groups" in done.err) == (2, True)
    assert cli_here("fit", *common, "--out", "groups.csv").code != 0
    assert (tmp_path / "groups.csv").read_text().startswith("feature,group")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,g,1\nx,g\n", ":2: names 'x', which is not a feature; the features are a ... d"),
        ("a,g\na,h\n", ":2: feature 'a' already has a group"),
        ("a,g,0\n", ":1: a cost must be a number > 0; got '0'"),
        ("a,g,nan\n", ":1: a cost must be a number > 0"),
        ("a,g,1e-320\n", "a number > 0; got '1e-320' (costs may be from 1e-100 to 1e+100)"),
        ("a,g,2\nb,g,3\n", ":2: group 'g' costs 3 here and 2 on line 1"),
        *[(f"a{rest}\n", ":1: expected feature,group") for rest in ("", ",,1", ",g,1,2", ',"g,2', ',g,"2')],
        ("a," + "g" * 200_000 + "\n", ":1: expected feature,group"),
        *[(text, ": contains no group") for text in ("Feature,Group,Cost\n", "")],
        ("a,g\n\nb,g\n", ":2: blank line"),
    ],
)
def test_bad_files_of_groups_are_refused_by_line(tmp_path, text, message):
    (tmp_path / "g.csv").write_text(text)
    with pytest.raises(DataFormatError) as caught:
        read_groups(tmp_path / "g.csv", ("a", "b", "c", "d"))
    assert message in str(caught.value)


def test_a_file_of_groups_names_groups_costs_and_features(tmp_path):
    (tmp_path / "g.csv").write_text('feature,group,cost\n"a, x",g,2\nb,g,\nd,c,3\n')
    feature_groups = read_groups(tmp_path / "g.csv", ("a, x", "b", "c", "d"))
    assert feature_groups.names == ("g", "feature c", "c")
    assert (feature_groups.costs, feature_groups.of_feature) == ((2.0, 1.0, 3.0), (0, 0, 1, 2))
    assert feature_groups.cost(np.array([0, 1, 3])) == 5.0
    (tmp_path / "s.csv").write_text('a, "g",2\nb, g\n')
    assert read_groups(tmp_path / "s.csv", ("a", "b")).costs == (2.0,)
    (tmp_path / "t.csv").write_text("b\tg\t2\n")
    assert read_groups(tmp_path / "t.csv", ("a", "b")).costs == (1.0, 2.0)


@pytest.mark.parametrize(
    ("feature_groups", "costs", "message"),
    [
        (["g", "g"], None, "must be a file, or a mapping"),
        ({"x": "g"}, None, "names 'x', which is not a feature"),
        ({"a": "g"}, [1.0], "must be a mapping of groups to costs"),
        ({"a": "g"}, {"h": 1.0}, "names 'h', which is not a group"),
        *[({"a": "g"}, {"g": cost}, "must be numbers > 0") for cost in (0, "2", 10**400)],
        *[(given, None, "must map at least one feature to a group name") for given in ({"a": 3}, {})],
    ],
)
def test_bad_groups_are_refused(feature_groups, costs, message):
    with pytest.raises(ParameterError, match=message):
        groups_of(feature_groups, costs, ("a", "b"))


def test_penalties_that_know_no_groups_are_refused(made):
    data, of = made
    with pytest.raises(ParameterError, match="are supported by the penalties l1, log, mcp, scad and best_k; got lp"):
        sr.select(data, feature_groups=of, penalties=["l1", "l0.5"])
    with pytest.raises(DataError, match="groups do not support the penalty elastic_net; use one such as l1"):
        sr.fit_path(data, ElasticNet(feature_groups=(0,) * 12))
    with pytest.raises(ParameterError, match="cannot be combined with the groups of a penalty; mcp has some"):
        sr.select(data, feature_groups=of, penalties=MCP(feature_groups=(0,) * 12))
    with pytest.raises(ParameterError, match="must be numbers > 0, one per feature"):
        sr.select(data, costs=[10**400] * 12)
    with pytest.raises(ParameterError, match="a mapping gives the costs of groups"):
        sr.select(data, costs={"first": 1.0})


def test_help_shows_text_in_brackets(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for command, flag, shown in (
        ("select", "--help", "[default: label]"),
        ("select", "--help-all", "sparserank[trees]"),
        ("fit", "--help", "[default: l1"),
    ):
        assert shown in cli(command, flag).out


def test_where_a_column_becomes_several_features_a_refusal_names_it_and_the_remedy_works():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": np.repeat(np.arange(12), 6), "label": np.tile([0, 1, 2, 0, 1, 0], 12)})
    frame["score"] = frame["label"] + rng.random(len(frame))
    frame["brand"] = rng.choice(["x", "y", "z"], len(frame))
    quick = {"n_alphas": 8, "half_samples": 0, "rival": "none", "feature_transform": "none", "cv": 2, "n_threads": 1}
    quick["penalties"] = "elastic_net(l1_ratio=0.5)"
    with pytest.raises(DataError, match=r"'brand'\) are a group, .* elastic_net .* ignore_columns=\['brand'\]"):
        sr.select(frame, **quick)
    assert sr.select(frame, ignore_columns=["brand"], **quick).model.columns == {"score": [0]}
    quick |= {"penalties": "l1", "costs": {"brand": 5.0}, "budget": 2.0}
    with pytest.raises(ParameterError, match="column 'brand' becomes several features; name its group"):
        sr.select(frame, **quick)
    chosen = sr.select(frame, feature_groups={"brand": "brand"}, **quick)
    assert list(chosen.model.columns) == ["score"]
