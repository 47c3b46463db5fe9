"""The model file: versioned JSON, written exactly and read strictly; nothing named in it is imported or run."""

from __future__ import annotations

from contextlib import suppress

from sparserank.data.read_files import LIGHTGBM_FIRST_LINE
from sparserank.errors import ModelFormatError
from sparserank.files import StrPath, open_regular
from sparserank.model.file_format import FORMAT, FORMAT_OF_SIZES, FORMAT_VERSION, fields_of
from sparserank.model.ranking_model import RankingModel
from sparserank.options import option
from sparserank.strict_json import Json, read_own_json
from sparserank.text import brief


def read_model(path: StrPath, *, links: bool = True) -> RankingModel:
    """Read the model of a file; links: whether the path may be a link.

    Raises
        ModelFormatError   the file is not a model file, is damaged, or was written by a newer version
    """
    try:
        content = read_content(
            path, FORMAT, FORMAT_VERSION, "JSON that 'sparserank select' or 'fit' writes", links=links
        )
        return RankingModel(**fields_of(content))
    except ModelFormatError as error:
        raise ModelFormatError(f"{path}: {error}") from error
    except ValueError as error:
        why = str(error).rstrip(".")
        raise ModelFormatError(f"{path}: damaged model file: {why}; restore it or train again.") from error


def read_content(path: StrPath, form: str, newest: int, expected: str, *, links: bool) -> Json:
    """Read the JSON of a file of this format, from version 1 to the newest; links: whether the path may be a link.

    Raises
        ModelFormatError   the file does not have this format, or was written by a newer version; without its path
    """
    try:
        content = read_own_json(path, links=links)
    except OSError as error:
        raise ModelFormatError(f"not a readable model ({error.strerror or error}); check the path.") from error
    except ValueError as error:
        if _is_lightgbm(path):
            raise ModelFormatError(
                f"is a LightGBM model, not a sparserank model. Compare with its settings by "
                f"{option('rival', str(path))}, choose features for it by {option('for_model', str(path))}, measure "
                "it by 'sparserank evaluate', or give its scores as a file or a feature."
            ) from error
        raise ModelFormatError(f"not a readable model file ({error}); check the path.") from error
    found_format = content.get("format") if isinstance(content, dict) else None
    if found_format == FORMAT_OF_SIZES and form == FORMAT:
        raise ModelFormatError(
            f"contains models of every size of a selection; give the size ({option('k')}), or the directory of "
            "the run for the chosen model."
        )
    if not isinstance(content, dict) or found_format != form:
        raise ModelFormatError(f"not a {form} file; expected the {expected}.")
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= newest:
        raise ModelFormatError(
            f"model format version must be an integer from 1 to {newest}; got {brief(version)}. "
            "If a newer sparserank wrote the file, upgrade sparserank."
        )
    return content


def _is_lightgbm(path: StrPath) -> bool:
    with suppress(OSError, ValueError), open_regular(path, links=True) as file:
        return file.readline(len(LIGHTGBM_FIRST_LINE) + 2).rstrip() == LIGHTGBM_FIRST_LINE.encode()
    return False
