"""Data sets of several files, which must have the same columns: Arrow uses only the first file's schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparserank.arrow import pa
from sparserank.data.tables.frames import reason_of
from sparserank.errors import DataFormatError


def columns_of(dataset: Any, place: str) -> list[tuple[str, pa.Schema]]:
    """(name, schema) of each file; the schema includes the columns in the names of folders."""
    from sparserank.arrow import ds

    columns = []
    for part in dataset.get_fragments():
        schema = part.physical_schema
        partition_names = [
            name for name in ds.get_partition_keys(part.partition_expression) if name not in schema.names
        ]
        fields = [dataset.schema.field(name) for name in partition_names if name in dataset.schema.names]
        columns.append((getattr(part, "path", place), pa.schema([*schema, *fields])))
    return columns


def with_uneven(dataset: Any, columns: list[tuple[str, pa.Schema]]) -> pa.Schema:
    """The schema with the columns that only some files have. Arrow would use the first file's schema, without them."""
    everywhere = set.intersection(*(set(schema.names) for _, schema in columns)) if columns else set()
    uneven: dict[str, pa.Field] = {}
    for _, schema in columns:
        uneven.update({f.name: f for f in schema if f.name not in everywhere and f.name not in dataset.schema.names})
    return pa.schema([*dataset.schema, *uneven.values()], metadata=dataset.schema.metadata)


def folder_of_tables(place: str) -> Any:
    """The data set of a folder of Parquet files, each column of a type that can represent the values of all files.

    Raises
        DataFormatError   a file is not a Parquet file, or a column type is incompatible with that in the other files
    """
    from sparserank.arrow import ds

    for file in sorted(Path(place).rglob("*")):
        hidden = any(part.startswith((".", "_")) for part in file.relative_to(place).parts)  # as in Arrow
        if not hidden and file.is_file() and not _is_parquet(file):
            raise DataFormatError(
                f"{file}: is not a Parquet file; a folder that is read as a table must contain only Parquet files, so "
                "move this file elsewhere."
            )
    dataset = ds.dataset(place, partitioning="hive", format="parquet")
    schema = dataset.schema
    for name, file_schema in columns_of(dataset, place):
        try:
            schema = pa.unify_schemas([schema, file_schema], promote_options="permissive")
        except pa.ArrowException as error:
            raise DataFormatError(
                f"{name}: the type of a column differs from its type in the other files of {place} "
                f"({reason_of(error)}); write the column with the same type in all files."
            ) from error
    return ds.dataset(place, partitioning="hive", format="parquet", schema=schema)


def _is_parquet(file: Path) -> bool:
    with open(file, "rb") as raw:
        return raw.read(4) == b"PAR1"
