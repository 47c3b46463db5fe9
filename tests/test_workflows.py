"""The workflows name the Pythons, commands and files of the project; so do the conda recipe and the Dockerfile."""

import re
import tomllib
from pathlib import Path

import pytest

import sparserank as sr

ROOT = Path(__file__).parents[1]
WORKFLOWS = {p.name: p.read_text(encoding="utf-8") for p in sorted((ROOT / ".github/workflows").glob("*.yml"))}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
RECIPE = (ROOT / "conda/recipe.yaml").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.fullmatch(r".* :: 3\.\d+", c)]
NOT_ON_WINDOWS = re.compile(r"(?m)^import (?:resource|pty)\b")


def listed(key: str) -> set[str]:
    """The entries of a list under a key of the recipe."""
    section = re.search(rf"(?m)^( *){key}:\n((?:\1  - .*\n)+)", RECIPE)
    assert section is not None
    return {line.strip("- ") for line in section[2].splitlines()}


def test_the_tests_run_on_the_oldest_and_the_newest_python() -> None:
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert f"Python {PYTHONS[0]} to {PYTHONS[-1]}" in (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    matrices = re.findall(r"python: \[(.+)\]", WORKFLOWS["tests.yml"])
    assert matrices == [f'"{PYTHONS[0]}", "{PYTHONS[-1]}"'] * 2
    named = re.findall(r'python-version: "(.+)"', "".join(WORKFLOWS.values()))
    assert named
    assert set(named) <= {PYTHONS[0], PYTHONS[-1]}


def test_the_classifiers_name_the_systems_on_which_the_tests_run() -> None:
    of_runner = {"ubuntu": "POSIX :: Linux", "macos": "MacOS", "windows": "Microsoft :: Windows"}
    systems = set(re.findall(r"(\w+)-latest", "".join(re.findall(r"system: \[(.+)\]", WORKFLOWS["tests.yml"]))))
    prefix = "Operating System :: "
    named = {c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(prefix)}
    assert named == {of_runner[system] for system in systems}


@pytest.mark.parametrize("target", ["test", "test-slow"])
def test_the_tests_are_those_of_make(target: str) -> None:
    command = re.search(rf"(?m)^{target}: .*\n\tSCIPY_ARRAY_API=1 \$\(BIN\)/(.+)$", MAKEFILE)
    assert command is not None
    assert f"- run: {command[1]} $OMITTED\n" in WORKFLOWS["tests.yml"]
    assert f"\nmake {target}\n" in (ROOT / ".ci/run").read_text(encoding="utf-8")
    whole_job = WORKFLOWS["tests.yml"].partition("\n  suite:\n")[2].partition("    steps:\n")[0]
    assert '    env:\n      OMITTED: ${{ matrix.omitted }}\n      SCIPY_ARRAY_API: "1"\n' in whole_job


@pytest.mark.parametrize("name", WORKFLOWS)
def test_targets_and_files_exist(name: str) -> None:
    for target in re.findall(r"\bmake ([a-z-]+)", WORKFLOWS[name]):
        assert re.search(rf"(?m)^{target}:", MAKEFILE), target
    for file in re.findall(r"\b(?:tests|integrations)/[\w/]+\.py\b", WORKFLOWS[name]):
        assert (ROOT / file).is_file(), file
    for folder in re.findall(r"path: (docs/.+)", WORKFLOWS[name]):
        assert f"docs {folder}\n" in MAKEFILE


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_job_has_a_time_limit_and_permissions_are_restricted(name: str) -> None:
    jobs = WORKFLOWS[name].partition("\njobs:\n")[2]
    own = len(re.findall(r"(?m)^  \w+:$", jobs)) - jobs.count("\n    uses: ./.github/workflows/")
    assert jobs.count("    runs-on: ") == jobs.count("    timeout-minutes: ") == own > 0
    assert re.search(r"(?m)^permissions:(?: \{\}|\n  contents: read)\n\n", WORKFLOWS[name])


def test_nothing_is_published_that_the_tests_did_not_pass() -> None:
    assert "\n  workflow_call:" in WORKFLOWS["tests.yml"]
    tests, publish = (WORKFLOWS["release.yml"].partition(f"\n  {job}:\n")[2] for job in ("tests", "publish"))
    assert tests.partition("\n\n")[0].endswith("    uses: ./.github/workflows/tests.yml")
    assert "    needs: [tests, build]\n" in publish


def test_modules_that_windows_cannot_import_are_omitted_there() -> None:
    omitted = set(re.findall(r"--ignore=tests/(\w+)\.py", WORKFLOWS["tests.yml"]))
    sources = {p.stem: p.read_text(encoding="utf-8") for p in (ROOT / "tests").glob("*.py")}
    impossible = {name for name, text in sources.items() if NOT_ON_WINDOWS.search(text)}
    while (
        more := {n for n, text in sources.items() if impossible & set(re.findall(r"tests\.(\w+) import", text))}
        - impossible
    ):
        impossible |= more
    assert {name for name in impossible if name.startswith("test_")} <= omitted


def test_the_recipe_requires_what_the_package_requires() -> None:
    minimum = PROJECT["requires-python"].removeprefix(">=")
    assert f'version: "{sr.__version__}"' in RECIPE
    assert f'python_min: "{minimum}"' in RECIPE
    required = {re.sub(r"(?=>=)", " ", entry) for entry in PROJECT["dependencies"]}
    assert listed("run") - {"python >=${{ python_min }}"} == required
    assert listed("entry_points") == {f"{name} = {target}" for name, target in PROJECT["scripts"].items()}
    assert f'summary: "{PROJECT["description"]}"' in RECIPE


def test_the_image_has_a_supported_python_and_extras_that_exist() -> None:
    assert set(re.findall(r"FROM python:([\d.]+)-slim", DOCKERFILE)) < set(PYTHONS)
    (extras,) = re.findall(r"\.whl\)\[([\w,]+)\]", DOCKERFILE)
    assert set(extras.split(",")) < set(PROJECT["optional-dependencies"])
    sent = set(re.findall(r"(?m)^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8")))
    assert sent == {"pyproject.toml", PROJECT["readme"], *PROJECT["license-files"], "src"}


def test_the_issue_forms_name_commands_and_files_that_exist() -> None:
    from sparserank.cli.app import app

    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    text = "\n".join(form.read_text(encoding="utf-8") for form in forms)
    assert len(forms) == 3
    assert set(re.findall(r"`sparserank ([a-z]+)", text)) == {"inspect", "demo"} <= set(app.commands)
    named = set(re.findall(r"[\w/-]+\.md", text))
    assert named == {"SECURITY.md", "docs/adding.md", "docs/other-tools.md"}
    assert all((ROOT / name).is_file() for name in named)
    assert all("--verbose" in {o for p in command.params for o in p.opts} for command in app.commands.values())
