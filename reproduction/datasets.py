"""Layouts of the folds in a LETOR folder."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from sparserank import read
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError, TooManyFeaturesError
from sparserank.selection.inputs import check_queries
from sparserank.shards.scaling import fit_scaling

NAMES = {
    "train": ("train.txt", "trainingset.txt", "train"),
    "valid": ("vali.txt", "validationset.txt", "valid.txt", "validation.txt"),
    "test": ("test.txt", "testset.txt"),
}
PUBLISHED_DATASETS = ("MQ2007", "MQ2008", "OHSUMED", "TD2003", "TD2004", "HP2003", "HP2004", "NP2003", "NP2004")
INSIDE = ("", "querylevelnorm", "QueryLevelNorm")  # LETOR 3.0 keeps its normalised version one level deeper


@dataclass(frozen=True)
class FoldFiles:
    """The files of one fold, numbered from 1."""

    number: int
    train: tuple[Path, ...]
    valid: tuple[Path, ...]
    test: tuple[Path, ...]


@dataclass(frozen=True)
class FoldData:
    """The data of one fold, scaled on its training part; all three have the same features."""

    train: RankingDataset
    valid: RankingDataset
    test: RankingDataset


def find_folds(folder: str | os.PathLike) -> list[FoldFiles]:
    """The folds of a LETOR folder: Fold1/train.txt, vali.txt, test.txt (or trainingset.txt, ...), else S1..S5.

    Files may be gzip (.gz). S1..S5 are combined as in LETOR: fold k trains on S_k, S_k+1, S_k+2, validates on the
    next one and tests on the one after.

    Raises
        DataError   the folder does not exist or has neither layout
    """
    root = Path(folder)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; expected a LETOR folder with Fold1..Fold5 or S1..S5.")
    folds = []
    present = [k for k in range(1, 6) if _child(root, f"Fold{k}")]
    if present and present != list(range(1, len(present) + 1)):
        missing = next(k for k in range(1, 6) if k not in present)
        raise DataError(f"{root}: Fold{missing} is missing, but Fold{present[-1]} exists.")
    for k in present:
        place = _child(root, f"Fold{k}")
        assert place is not None
        parts = {part: _file(place, names) for part, names in NAMES.items()}
        absent = [part for part, path in parts.items() if path is None]
        if absent:
            raise DataError(f"{place}: no {absent[0]} file; expected one of {', '.join(NAMES[absent[0]])} (or .gz).")
        folds.append(FoldFiles(k, *((path,) for path in parts.values())))  # type: ignore[arg-type]
    if folds:
        return folds
    parts5 = [_file(root, (f"S{k}.txt",)) for k in range(1, 6)]
    if all(parts5):
        s = [p for p in parts5 if p is not None]
        return [
            FoldFiles(k + 1, (s[k], s[(k + 1) % 5], s[(k + 2) % 5]), (s[(k + 3) % 5],), (s[(k + 4) % 5],))
            for k in range(5)
        ]
    raise DataError(f"{root}: neither Fold1/train.txt ... nor S1.txt ... S5.txt (or .gz) found.")


def find_published(root: str | os.PathLike) -> tuple[dict[str, Path], dict[str, str]]:
    """({name: folder} of the papers' data sets below `root`, {name: reason} of the missing ones),
    ignoring the case of folder names."""
    found: dict[str, Path] = {}
    lacking: dict[str, str] = {}
    for name in PUBLISHED_DATASETS:
        place = _child(Path(root), name)
        if place is None:
            lacking[name] = "no such folder"
            continue
        for inside in INSIDE:
            candidate = place / inside if inside else place
            try:
                find_folds(candidate)
            except DataError as error:
                lacking.setdefault(name, str(error))
                continue
            found[name] = candidate
            lacking.pop(name, None)
            break
    return found, lacking


def content_hash(files: FoldFiles) -> str:
    """Hash of the files of a fold as they are now.

    Raises
        DataError   a file cannot be read
    """
    try:
        parts = (files.train, files.valid, files.test)
        return hashlib.sha256("|".join(" ".join(map(file_hash, part)) for part in parts).encode()).hexdigest()
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror or error}).") from error


def open_fold(folder: str, number: int, scaling: str, missing: str | None, content: str) -> FoldData:
    """Read fold `number` of a LETOR folder.

    Raises
        DataError   the files are not those of `content_hash` = content
    """
    files = next(f for f in find_folds(folder) if f.number == number)
    data = read_fold(files, scaling=scaling, missing=missing)
    if content_hash(files) != content:
        raise DataError(f"{folder}: the files of fold {number} changed during the run; run the same command again.")
    return data


def read_fold(files: FoldFiles, *, scaling: str = "none", missing: str | None = None) -> FoldData:
    """Read a fold; `missing` as in `read`, `scaling` as in `fit_scaling`."""
    parts = (files.train, files.valid, files.test)
    width: int | None = None
    wider: TooManyFeaturesError | None = None
    while True:
        try:
            data = []
            for paths in parts:
                data.append(read(list(paths), n_features=width, missing=missing))
                width = data[0].n_features
            break
        except TooManyFeaturesError as error:  # a later part names more features than train, where they are 0
            width = error.width
            wider = error
        except DataError:
            if wider is not None:
                raise wider from None  # a width that nothing can be read with is a mistyped index, which this names
            raise
    try:
        ids = (part.query_ids.tolist() for part in data)
        check_queries(dict(zip(("train", "validation", "test"), ids, strict=True)), may_be_allowed=False)
    except DataError as error:
        raise DataError(f"fold {files.number}: {error}") from error
    fitted = fit_scaling(data[0], scaling)
    return FoldData(*(fitted.apply(d) for d in data))


def _child(place: Path, name: str) -> Path | None:
    """The folder of that name in `place`, ignoring case."""
    if not place.is_dir():
        return None
    return next((p for p in sorted(place.iterdir()) if p.is_dir() and p.name.lower() == name.lower()), None)


def _file(place: Path, names: tuple[str, ...]) -> Path | None:
    for name in names:
        for candidate in (place / name, place / f"{name}.gz"):
            if candidate.is_file():
                return candidate
    return None


def file_hash(path: str | os.PathLike) -> str:
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
