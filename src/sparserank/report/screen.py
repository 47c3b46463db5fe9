"""The output of `select` on the screen: at most 30 lines, in the order of a reader's questions. How good are all
features and the chosen ones, on which queries, how certain is it, which features, what if fewer, what next."""

from __future__ import annotations

import math
import shlex
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sparserank.crossval.choice import Candidate, reference_name
from sparserank.crossval.tree_rivals import AS_IN, BEYOND, WITHOUT
from sparserank.export import ENGINES
from sparserank.options import option
from sparserank.report.document import Cells, Fact
from sparserank.requests.selection import BOOSTS, LOST
from sparserank.selection.claims import BELOW, CONSTANT, FIRST, NOT_COMPARED, Claim, counted
from sparserank.selection.for_engine import other_fills
from sparserank.selection.lists import TreesSelection
from sparserank.selection.rivals import ComparedRival
from sparserank.text import MIN_NAME, change, figure, percent, shortened, visible

if TYPE_CHECKING:
    from sparserank.selection.result import ChoiceResult, SelectionResult

MAX_LINES = 30
MAX_WIDTH = 100
MIN_WIDTH = 80
# characters of a name in a row of figures; the report has it in full
MAX_NAME = 34
MAX_NAME_NARROW = 20
VERBOSE = "--verbose"
ALONE = "best alone: "
MAX_SIZES = 8
MIN_FEATURES = 10  # features shown, unless the other lines are too many even in short form
MAX_NOTES = 3
PAIRS = 3  # pairs of a redundant feature and the selected one that it repeats
BAR = 10  # characters of the largest loss
NO_LOSS = 0.05  # percent; smaller losses are printed as 0.0%
NO_GAIN = 0.0005  # smaller gains are printed as 0.0%
SIZES = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200)  # shown if they exist


Lines = list[str]
Row = tuple[str, int, float, str]  # name, number of features, mean, comparison of the chosen model with it


def screen_lines(
    result: ChoiceResult,
    folder: str | None = None,
    *,
    most: int = MAX_LINES,
    width: int = MAX_WIDTH,
    k: bool = True,
) -> Lines:
    """The lines on the screen; folder: directory of the run, for the next commands; k: whether one of these may set
    another size."""
    kind: Callable[..., Screen] = ListScreen if isinstance(result, TreesSelection) else ModelScreen
    return kind(result, result.claims, folder, width).lines(most, k)


@dataclass(frozen=True)
class Screen(ABC):
    """The screen of a choice; folder, longest: as `folder` and `width` of `screen_lines`."""

    result: ChoiceResult
    claims: Sequence[Claim]
    folder: str | None
    longest: int

    notes_in: ClassVar = "result.notes"  # the attribute in Python that contains all notes

    @property
    def width(self) -> int:
        """Characters of a line."""
        return max(MIN_WIDTH, min(self.longest, MAX_WIDTH))

    def lines(self, most: int, k: bool) -> Lines:
        """At most `most` lines: if they are too many, without empty lines; then short; then with fewer features."""
        commands = [] if self.folder is None else self.commands(self.folder, k)
        most -= len(commands)
        room = MIN_FEATURES + 2
        lines = self.body(room)
        if len(lines) > most:
            lines = [line for line in lines if line]
        while len(lines) > most and room > 1:
            lines = [line for line in self.body(room, short=True) if line]
            room -= 1
        return [*lines, *commands]

    def body(self, room: int, *, short: bool = False) -> Lines:
        """All lines but the commands, with at most `room` lines on features; short: with one line for all notes, no
        names of redundant features, and no size 1, which is among the sizes."""
        notes = self.notes()
        first = [*self.claim_lines(FIRST), "", *self.table(), *self.claim_lines(BELOW), ""]
        if short:
            first = [line for line in first if not line.startswith(ALONE)]
            notes = notes if len(notes) < 2 else self.notes(short=True)
        last = [*self.size_lines(self.some_sizes()), "", *self.wrapped(self.unused(0 if short else PAIRS)), *notes]
        return [*first, *self.worth(room), "", *last]

    # -- how good, on which queries ------------------------------------------------------------------------------------

    def table(self) -> Lines:
        """The rankers: their means, the change from one reference, and the chosen model compared with each."""
        result = self.result
        wide = self.width == MAX_WIDTH
        rows = [] if result.change is None else [_row(result.reference, result.change.row)]
        rows += [_row(result.against_all, self.all)] if result.dense is not result.chosen else []
        rows.append((self.shown("chosen", result.chosen), result.chosen.n_features, result.chosen.mean, ""))
        rows += [*self.best(), *(_row(r, r.name) for r in self.rivals()), *self.alone()]
        noun = f"{result.noun}s"
        star = "*" if math.isfinite(result.choice.bound(result.chosen)) else ""  # enough queries for intervals
        against = f"against {self.measure if wide or result.change is not None else 'all'}"
        cells = [[noun, result.metric, against, f"chosen against row{star}"]]
        for _, n, mean, chosen in rows:
            share = change(mean, result.reference.mean) if len(cells) > 1 else ""
            cells.append([f"{n or '-':>{len(noun)}}", figure(mean), share, chosen])
        most = MAX_NAME if wide else MAX_NAME_NARROW
        fitted = self.fitted(["", *(name for name, *_ in rows)], cells, most, 2, _row_name)
        width = max(len(name) for name, *_ in fitted)
        lines = [[f"{name:{width}} {n}", *line] for name, n, *line in fitted]
        return aligned(lines, "<", ">7", ">", "<")

    def fitted(
        self,
        names: Sequence[str],
        cells: Cells,
        most: int,
        extra: int,
        short: Callable[[str, int], str] = shortened,
    ) -> Cells:
        """The lines of a table, each a name and its cells, the head first, so that no figure has to be cut. Names have
        at most `most` characters; if there is no room for them, the column `extra` of the cells is left out."""
        longest = min(most, max(map(len, names)))
        for shown in (cells, [[*row[:extra], "", *row[extra + 1 :]] for row in cells]):
            room = self.width - sum(max(map(len, column)) + 2 for column in zip(*shown, strict=True))
            if room >= longest:
                break
        head, *others = names
        fitting = [head, *(short(name, min(room, longest)) for name in others)]
        return [[name, *line] for name, line in zip(fitting, shown, strict=True)]

    def best(self) -> list[Row]:
        """The model with the highest mean, unless it is the chosen one or all features."""
        c = self.result.best
        if c in (self.result.chosen, self.result.dense) or c not in self.result.by_size:
            return []
        return [(self.shown("best of ours", c), c.n_features, c.mean, "")]

    @property
    def all(self) -> str:
        """The name of the reference that uses all features."""
        return reference_name(self.result.dense)

    @property
    def measure(self) -> str:
        """What the others are compared with, for the heads of tables."""
        return "today" if self.result.change is not None else shortened(self.all, MAX_NAME)

    def shown(self, name: str, c: Candidate) -> str:
        """The name of the row of a candidate."""
        return name

    def rivals(self) -> Sequence[ComparedRival]:
        """The rivals that have a row."""
        return self.result.rivals.compared

    def alone(self) -> list[Row]:
        """The best model of a single feature, unless it is the chosen one."""
        for c, used in zip(self.result.by_size, self.result.used, strict=True):
            if c.n_features == 1 and c is not self.result.chosen and not self.result.choice.by_cost:
                return [(f"{ALONE}{used[0]}", 1, c.mean, "")]
        return []

    # -- features ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def worth(self, room: int) -> Lines:
        """The features, the most important first, in at most `room` lines."""

    def unused(self, n_pairs: int) -> str:
        """The unused features, and at most n_pairs pairs of an unused feature and the used one that it repeats."""
        return ""

    @abstractmethod
    def exports(self, place: str) -> Lines:
        """Commands that use the run; place: its directory, quoted."""

    def more_names(self, names: Sequence[str], statement: str = "") -> Lines:
        """The names that do not have a separate line, and a statement about them."""
        text = f"{len(names)} more{statement}: {', '.join(names)}"
        if len(text) > self.width:
            text = f"{text[: self.width - 5].rsplit(', ', 1)[0]}, ..."
        return [text] if names else []

    # -- other sizes, unused features, next commands -------------------------------------------------------------------

    def size_lines(self, shown: Sequence[Candidate]) -> Lines:
        """Some sizes, and for each the best model of at most this size, compared with the reference."""
        result = self.result
        by_cost = self.result.choice.by_cost
        sizes = [f"{c.cost:g}" if by_cost else str(c.n_features) for c in shown]
        sizes = [f"[{size}]" if c is result.chosen else size for size, c in zip(sizes, shown, strict=True)]
        changes = [change(c.mean, result.reference.mean) for c in shown]
        width = max(map(len, [*sizes, *changes]))
        first = f"{'cost' if by_cost else result.noun + 's'}, at most"
        lines = [[first, *sizes], [f"against {self.measure}", *changes]]
        return aligned(lines, "<", *[f">{width}"] * len(sizes))

    def some_sizes(self) -> list[Candidate]:
        """Sizes that grow by about half, including the chosen one and the best."""
        by_size = self.result.by_size
        by_cost = self.result.choice.by_cost
        chosen = self.result.chosen
        best = max(by_size, key=lambda c: c.mean)
        if by_cost:
            wanted = by_size[:: max(len(by_size) // (MAX_SIZES - 2), 1)]
        else:
            wanted = [min(by_size, key=lambda c: abs(c.n_features - size)) for size in SIZES]
        sizes = [c for c in by_size if c is chosen or c is best or any(c is w for w in wanted)]
        while len(sizes) > MAX_SIZES or max(map(len, self.size_lines(sizes))) > self.width:
            others = [c for c in sizes if c is not chosen and c is not best]
            # Drop the size that is farthest from the chosen one.
            sizes.remove(max(others, key=lambda c: abs(math.log(max(c.n_features, 1) / max(chosen.n_features, 1)))))
        return sizes

    def notes(self, *, short: bool = False) -> Lines:
        """The first notes, or if `short`, only how many there are. What changes in a request, and what a rival reads
        beyond our models, is never left out."""
        # The rivals that were not compared, and the notes that the first lines do not contain.
        notes = [c.text for c in self.claims if c.key == NOT_COMPARED]
        notes += [n for n in self.result.notes if n.removesuffix(".") not in (self.result.suspicion or "")]
        always = [note for note in notes if note.startswith((BOOSTS, LOST)) or note.endswith(BEYOND)]
        others = [note for note in notes if note not in always]
        room = len(others) if len(notes) <= MAX_NOTES else max(MAX_NOTES - 1 - len(always), 0)
        shown = [*always, *others[: 0 if short else room]]
        left = len(notes) - len(shown)
        if left:
            source = f"{self.notes_in} contains" if self.folder is None else f"{VERBOSE} shows"
            shown.append(f"{left} more; {source} them" if shown else f"{source} {counted(left, 'note')}")
        return self.wrapped(*(f"note: {text}" for text in shown))

    def commands(self, folder: str, k: bool) -> Lines:
        """The next commands, for the folder of a run."""
        plan = self.result.plan
        chosen = self.result.chosen
        sizes = self.some_sizes()
        again = k and plan.guarantee is None and plan.k is None and plan.budget is None
        by_cost = self.result.choice.by_cost
        size, limit, words = ("cost", "budget", "lower cost") if by_cost else ("n_features", "k", "smaller size above")
        smaller = [getattr(c, size) for c in sizes if getattr(c, size) < getattr(chosen, size)]
        commands = []
        if smaller and again:
            commands.append(f"add {option(limit, smaller[-1])} for the next {words} (seconds; replaces the choice)")
        if visible(folder) == folder:
            place = Path(folder)
            commands += self.exports(shlex.quote(str(place)))
            report = place / "report.html"
            if report.exists():
                commands.append(f"open {shlex.quote(str(report))}")
            commands.append(f"{VERBOSE} for all")
        # on as few lines as possible, but not wrapped
        lines: Lines = []
        for command in commands:
            if lines and len(lines[-1]) + len(command) + 3 <= self.width:
                lines[-1] += f" | {command}"
            else:
                lines.append(f"{'      ' if lines else 'Next: '}{command}")
        return lines

    def claim_lines(self, rank: int) -> Lines:
        """The claims of a rank."""
        return self.wrapped(*(claim.text for claim in self.claims if claim.rank == rank))

    def wrapped(self, *texts: str | None) -> Lines:
        return wrapped(texts, self.width)


@dataclass(frozen=True)
class ModelScreen(Screen):
    """The screen of a model."""

    result: SelectionResult

    def worth(self, room: int) -> Lines:
        groups = self.result.facts.feature_groups
        rows = self.feature_groups(groups, room) if groups else self.features(self.result.facts.features, room)
        return [*rows, *self.wrapped(self.result.smaller)]

    def features(self, rows: Sequence[Fact], room: int) -> Lines:
        """The selected features, the most costly to leave out first, in at most `room` lines."""
        shown, rest = first_of(sorted(rows, key=_by_loss), room)
        largest = max([*(row["loss"] for row in rows if row["loss"] is not None), NO_LOSS])
        halves = "" if self.result.stability is None else f" chosen on {self.result.stability.n_samples} half-samples"
        costed = any(row["cost"] is not None for row in rows)
        cells = [["weight", "change if left out" if costed else "", halves]]
        for row in shown:
            loss = _left_out(row) if costed and len(rows) > 1 else ""  # a model needs a feature
            bar = "=" * round(BAR * max(row["loss"] or 0.0, 0.0) / largest)
            cells.append([f"{row['weight']:+.3f}", f"{loss:>7} {bar}", f" {self.stability_of(row)}"])
        lines = self.fitted(["feature", *(visible(row["name"]) for row in shown)], cells, self.width, 2)
        return [*aligned(lines, "<", ">8", "<", "<"), *self.others(rest)]

    def stability_of(self, row: Fact) -> str:
        """The number of half-samples that select a feature, and its substitute."""
        stability = self.result.stability
        parts = []
        if stability is not None:
            parts.append(f"{round(row['selection_frequency'] * stability.n_samples)} of {stability.n_samples}")
        if row["substitute"] is not None:
            other = shortened(row["substitute"], MAX_NAME_NARROW)
            parts.append(f"or {other} (r = {row['substitute_correlation']:.2f})")
        return ", ".join(parts)

    def others(self, rest: Sequence[Fact]) -> Lines:
        """The selected features that do not have a separate line."""
        losses = [row["loss"] for row in rest if row["loss"] is not None]
        known = rest and len(losses) == len(rest) and max(losses) >= NO_LOSS
        largest = f", each at most {max(losses):.1f}%" if known else ""
        free = sum(loss <= 0 for loss in losses)
        none = f", {free} without a loss on these queries" if free else ""
        return self.more_names([row["name"] for row in rest], f"{largest}{none}")

    def feature_groups(self, rows: Sequence[Fact], room: int) -> Lines:
        """The groups in use, the most costly to leave out first."""
        shown, rest = first_of(sorted(rows, key=_by_loss), room)
        cells = [["cost", "features", "change if left out"]]
        cells += [[f"{r['group_cost']:g}", str(len(r["features"])), f"{_left_out(r):>7}"] for r in shown]
        lines = self.fitted(["group", *(row["group"] for row in shown)], cells, self.width // 3, 1)
        return [*aligned(lines, "<", ">8", ">8", "<"), *self.more_names([row["group"] for row in rest])]

    def unused(self, n_pairs: int) -> str:
        n = self.result.n_all - self.result.chosen.n_features
        if n == 0:
            return ""
        reasons = []
        constant = len(self.result.constant_features)
        left = self.result.redundant.left
        dropped = self.result.plan.count(self.result.plan.never)
        if dropped:
            reasons.append(f"{dropped} {'was' if dropped == 1 else 'were'} left out beforehand")
        if constant:
            reasons.append(f"{constant} {'is' if constant == 1 else 'are'} {CONSTANT}")
        if left:
            names = [[shortened(name, 2 * MAX_NAME) for name in (row.feature, row.selected)] for row in left[:n_pairs]]
            pairs = ", ".join(f"{feature} ({selected})" for feature, selected in names)
            examples = f": {pairs}{', ...' if len(left) > n_pairs else ''}" if pairs else ""
            correlate = f"{len(left)} correlate{'s' if len(left) == 1 else ''}"
            reasons.append(f"{correlate} with a used one, |r| >= {self.result.redundant.least:g}{examples}")
        features = "1 feature is" if n == 1 else f"{n} features are"
        return f"{features} not used{': ' if reasons else ''}{'; '.join(reasons)}"

    def exports(self, place: str) -> Lines:
        command = self.result.export_command(self.result.model, place)
        if command:
            return [command]
        engine = self.result.plan.engine or "sql"
        fills = other_fills(ENGINES[engine], self.result.model)  # which select cannot avoid by leaving out transforms
        return [f"the same command with {option('missing', 'zero')}, for {engine}"] if fills else []


@dataclass(frozen=True)
class ListScreen(Screen):
    """The screen of a list of features for trees."""

    result: TreesSelection

    def worth(self, room: int) -> Lines:
        """The features of the list by their share of the gain, in at most `room` lines."""
        rows = self.result.facts.features
        shown, rest = first_of(rows, room)
        largest = max(rows[0]["gain"], NO_GAIN)
        cells = [["gain", ""]]
        cells += [[f"{row['gain']:.1%}", "=" * round(BAR * row["gain"] / largest)] for row in shown]
        lines = self.fitted(["feature", *(row["feature"] for row in shown)], cells, self.width, 1)
        together = f", together {sum(row['gain'] for row in rest):.1%}"
        return [*aligned(lines, "<", ">", "<"), *self.more_names([row["feature"] for row in rest], together)]

    def exports(self, place: str) -> Lines:
        """A command that uses the trees; place: the directory of the run, quoted."""
        return [f"sparserank evaluate DATA --system {place}/trees.txt", f"open {place}/features.txt"]


def _row(r: ComparedRival, name: str) -> Row:
    """The row of a ranker, with the chosen model compared with it."""
    return name, r.n_features, r.mean, r.against()


def wrapped(texts: Iterable[str | None], width: int = MAX_WIDTH) -> Lines:
    """The lines of texts, each begun in a new line; further lines are indented."""
    options: dict[str, Any] = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}
    return [line for text in texts if text for line in textwrap.wrap(text, width, **options)]


def aligned(lines: Sequence[Sequence[str]], *alignments: str) -> Lines:
    """The lines of a table, from their cells; the first line is its head, and columns without any text are left out.
    alignments: of each column, with its least width: '<', '>8'."""
    columns = []
    for alignment, cells in zip(alignments, zip(*lines, strict=True), strict=True):
        width = max(int(alignment[1:] or 0), *map(len, cells))
        columns += [[f"{cell:{alignment[0]}{width}}" for cell in cells]] if any(cells) else []
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


def first_of(rows: Sequence[Fact], room: int, least: int = 0) -> tuple[Sequence[Fact], Sequence[Fact]]:
    """The rows that have lines of their own, at least this many, and the others, where heading and others need two."""
    n = len(rows) if len(rows) < room else max(room - 2, least)
    return rows[:n], rows[n:]


def _by_loss(row: Fact) -> float:
    return math.inf if row["loss"] is None else -row["loss"]


def _left_out(row: Fact) -> str:
    """The change if a feature or a group is left out."""
    return "-" if row["loss"] is None else percent(-row["loss"] / 100.0)


def _row_name(name: str, most: int) -> str:
    """The shortened name of a row. If a rival lacks features, the name still says so: only the end of its file name is
    cut, and the names of the features if they are too long."""
    head, without, lacking = visible(name).removeprefix(AS_IN).rpartition(WITHOUT)
    if not name.startswith(AS_IN) or not without or len(visible(name)) <= most:
        return shortened(name, most)
    tail = f"{without}{lacking}"
    tail = tail if len(head) + len(tail) <= most or len(tail) <= most - MIN_NAME else f"{without}some"
    room = most - len(tail)
    return f"{head if len(head) <= room else f'{head[: room - 3]}...'}{tail}"
