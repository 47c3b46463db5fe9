"""Plain reader of ranking text: str.split, float(), dictionaries, patterns. Slow and obvious.
And texts to try readers on."""

import gzip
import math
import random
import re
import struct
import zlib
from dataclasses import dataclass
from decimal import Decimal, localcontext

_DOCID = re.compile(r"docid[ \t]*[=:][ \t]*([^ \t]*)", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MISSING = re.compile(r"[+-]?(nan|inf|infinity)|null", re.IGNORECASE | re.ASCII)
_SMALLEST_MISSING = 1.79e308
_BLANKS = "".join(map(chr, range(33)))
_LARGEST_INDEX = 2147483646
_MANY_FEATURES = 1_000_000


class Refused(ValueError):
    """What no reader may accept; `lines` holds every line at fault, from 1, or nothing when the file as a whole is."""

    def __init__(self, reason: str, lines: set[int] | None = None) -> None:
        super().__init__(reason)
        self.lines = lines or set()


@dataclass
class Row:
    """One document as it stands in the file; `values` has the features by their number in the file,
    nan where missing."""

    label: float
    qid: str
    values: dict[int, float]
    comment: str
    docid: str


def read_file(content, *, index_base=1, n_features=None, missing=False, unjudged="error"):
    """The data rows in file order, plain or gzip; whether missing values are allowed, what a label of -1 means."""
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise Refused(f"gzip: {error}") from error
    if b"\0" in content:
        raise Refused("binary")
    if content[:3] == b"\xef\xbb\xbf":
        content = content[3:]
    rows, bad = [], {}
    numbers = []
    for number, line in enumerate(content.decode("utf-8", "surrogateescape").split("\n"), start=1):
        try:
            row = _read_line(line.rstrip("\r"), index_base)
            if row is None:
                continue
            if n_features is not None and any(i >= n_features + index_base for i in row.values):
                raise ValueError("more features than expected")
            if not missing and any(math.isnan(v) for v in row.values.values()):
                raise ValueError("missing value")
            if unjudged == "error" and row.label == -1:
                raise ValueError("unjudged")
            rows.append(row)
            numbers.append(number)
        except ValueError as error:
            bad[number] = str(error)
    if bad:
        raise Refused(str(bad), set(bad))
    present = sum(len(row.values) for row in rows)
    if not present:
        raise Refused("no rows, or no features")
    widest = max(max(row.values, default=0) for row in rows)
    if widest - index_base >= max(_MANY_FEATURES, 100 * present):
        raise Refused("too wide", {n for n, row in zip(numbers, rows, strict=True) if widest in row.values})
    rows = [row for row in rows if row.label != -1 or unjudged != "drop"]
    if not rows:
        raise Refused("all unjudged")
    for row in rows:
        row.label = 0.0 if unjudged == "zero" and row.label == -1 else row.label
    return rows


def read_rows(text: str, index_base: int = 1) -> list[Row]:
    """The data rows of `text` in file order; blank lines and lines that are only a comment are skipped."""
    return read_file(text.encode(), index_base=index_base)


def _read_line(line: str, index_base: int) -> Row | None:
    if "\r" in line:
        raise ValueError("carriage return inside the line")
    before, _, comment = line.partition("#")
    if any(c < " " and c != "\t" for c in before):
        raise ValueError("control character")
    tokens = [token for token in before.replace("\t", " ").split(" ") if token]
    if not tokens:
        return None
    label = float(tokens[0]) if _NUMBER.fullmatch(tokens[0]) else math.inf
    if not math.isfinite(label):
        raise ValueError("label")
    qid = tokens[1] if len(tokens) > 1 else ""
    if qid[:4] != "qid:" or qid == "qid:":
        raise ValueError("no qid")
    qid[4:].encode()  # refuses what was not UTF-8
    values: dict[int, float] = {}
    for token in tokens[2:]:
        digits, colon, value = token.partition(":")
        if not colon or not re.fullmatch("[0-9]+", digits):
            raise ValueError("no index:value")
        if len(digits.lstrip("0")) > 10:
            raise ValueError("index too large")
        index = int(digits.lstrip("0") or "0")
        if not index_base <= index <= _LARGEST_INDEX + index_base or index in values:
            raise ValueError("index out of range or repeated")
        if _NUMBER.fullmatch(value):
            values[index] = float(value) if abs(float(value)) < _SMALLEST_MISSING else math.nan
        elif _MISSING.fullmatch(value):
            values[index] = math.nan
        else:
            raise ValueError("value")
    comment = comment.strip(_BLANKS).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    found = _DOCID.search(comment)
    return Row(label, qid[4:], values, comment, found[1] if found else "")


def fill(rows: list[Row], policy: str | float) -> None:
    """Replace missing values: 'zero', 'query-min' or a number."""
    where = {(n, index) for n, row in enumerate(rows) for index, value in row.values.items() if math.isnan(value)}
    filled = {}
    for n, index in where:
        if policy == "query-min":
            filled[n, index] = query_minimum(rows, rows[n].qid, index, where)
        else:
            filled[n, index] = 0.0 if policy == "zero" else float(policy)
    for (n, index), value in filled.items():
        rows[n].values[index] = value


def gather_queries(rows: list[Row]) -> list[int]:
    """Row numbers, query after query in order of first appearance, file order within a query."""
    queries: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        queries.setdefault(row.qid, []).append(number)
    return [number for members in queries.values() for number in members]


def dense(rows: list[Row], n_features: int, index_base: int = 1) -> list[list[float]]:
    """Feature values row by row, absent ones 0."""
    table = [[0.0] * n_features for _ in rows]
    for line, row in zip(table, rows, strict=True):
        for index, value in row.values.items():
            line[index - index_base] = value
    return table


def query_minimum(rows: list[Row], qid: str, index: int, missing: set[tuple[int, int]]) -> float:
    """Smallest value of a feature among the documents of a query that have one; absent counts as 0;
    0 if none has one."""
    known = [
        row.values.get(index, 0.0)
        for number, row in enumerate(rows)
        if row.qid == qid and (number, index) not in missing
    ]
    return min(known, default=0.0)


NUMBERS = ("0", "-0", "+1", "1.", ".5", "-.25", "007", "1e3", "2.5E-3", "1e+05", "0.1", "123456789.123456789")


def random_number(rng: random.Random) -> str:
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice(NUMBERS)
    value = rng.choice([-1, 1]) * rng.random() * 10.0 ** rng.randint(-12, 12)
    return [repr(value), f"{value:.6f}", f"{value:.16e}", f"{value:.3g}"][kind - 1]


def random_text(seed: int, *, base: int = 1, contiguous: bool = False, ids: str = "string") -> str:
    """Everything the format allows: any index order, tabs, CRLF, blank and comment lines,
    comments with and without id."""
    rng = random.Random(seed)
    names = {"string": ["a-1", "b:2", "é", "7", "q7"], "int": ["10", "3", "-4", "0", "99999999999"]}[ids]
    queries = [rng.choice(names) for _ in range(60)]
    if contiguous:
        queries.sort(key=names.index)
    end = rng.choice(["\n", "\r\n"])
    lines = []

    def gap() -> str:
        return rng.choice([" ", "  ", "\t", " \t "])

    for n, qid in enumerate(queries):
        indices = rng.sample(range(base, base + 9), rng.randint(0, 9))
        if rng.random() < 0.5:
            indices.sort()
        label = rng.choice(["0", "1", "2", "0.5", "1e0", "3.0"])
        line = rng.choice(["", " ", "\t"]) + label + gap() + f"qid:{qid}"
        line += "".join(f"{gap()}{i}:{random_number(rng)}" for i in indices)
        line += rng.choice(
            ["", " ", f" # docid = D{n} inc = 0.1", f"#docid=D{n}", f" #  note é {n} # DocID : X{n} ", " #"]
        )
        lines += [*rng.choice([[], [], ["", "# a comment: 1 qid:2 3:4"], ["  \t"], [" # indented"]]), line]
    return end.join(lines) + rng.choice(["", end])


def edge_numbers() -> list[str]:
    """Decimals on and beside the points where rounding to float64 is decided."""
    rng = random.Random(11)
    texts = ["9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "9007199254740995"]
    texts += [
        f"{m}e{e}" for m in ("1", "8.5", "9007199254740993", "123456789012345678") for e in (*range(-25, 26), 290)
    ]
    texts += ["4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308", "1e-400"]
    texts += ["0." + "0" * 40 + "123", "123" + "0" * 40 + "e-40", "1" * 400 + "e-380", "0" * 50 + "1.5", "1.78e308"]
    with localcontext() as context:
        context.prec = 800
        for _ in range(1500):
            low = struct.unpack("d", struct.pack("Q", rng.getrandbits(64) & ~(1 << 63)))[0]
            if not low < 1e307:
                continue
            middle = (Decimal(low) + Decimal(math.nextafter(low, math.inf))) / 2
            exact = f"{middle:.800e}".split("e")
            digits = exact[0].rstrip("0")
            texts += [
                f"{digits}e{exact[1]}",
                f"{digits}1e{exact[1]}",
                f"{digits[:18]}e{exact[1]}",
                repr(low),
                f"{low:.16e}",
            ]
        for _ in range(1500):  # short mantissas, where the fast path ends
            mantissa, exponent = rng.getrandbits(rng.choice([10, 52, 53, 54, 60, 64, 70])), rng.randint(-24, 24)
            point = rng.randint(0, len(str(mantissa)))
            texts += [
                f"-{mantissa}E{exponent:+d}",
                str(mantissa)[:point] + "." + str(mantissa)[point:] + f"e{exponent}",
            ]
    return [t for t in texts if t not in (".", "-")]
