"""Engines of the tests: jars from Maven Central in a folder of their own; Lucene, and one server a time on loopback."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlencode

import numpy as np
import pytest

SOURCES = Path(__file__).parent / "engines"
CACHE = Path(os.environ.get("SPARSERANK_ENGINES", Path.home() / ".cache" / "sparserank-engines"))
REGISTRY = "Maven Central (repo.maven.apache.org)"
# The version of the plugin that Maven would choose need not be served.
RESOLVE = "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:build-classpath"
# The last module of learning to rank in the registry is that of Solr 8.11; Solr 9 has its own, which is not there.
SOLR = {
    "9.10.1": ["org.apache.solr:solr-test-framework:9.10.1"],
    "8.11.4": ["org.apache.solr:solr-core:8.11.4", "org.apache.solr:solr-ltr:8.11.4"],
}
MODULES = "analysis-common lang-painless mapper-extras-client transport-netty4-client"
OPENSEARCH = {
    version: [
        f"org.opensearch:opensearch:{version}",
        *(f"org.opensearch.plugin:{module}:{version}" for module in (MODULES + more).split()),
        "org.apache.logging.log4j:log4j-core:2.25.4",
    ]
    for version, more in (("2.19.6", " lang-expression"), ("3.9.0", ""))
}
JAVA = 17
# The last version of these plugins in the registry; a node that has them on its class path takes them for its own.
HYBRID = [f"org.opensearch.plugin:{plugin}:2.19.1.0:zip" for plugin in ("neural-search", "opensearch-knn")]
NEWER = {"3.9.0": 21}  # versions of OpenSearch that need a later Java
VESPA = "8.600.35"
VESPA_PARTS = "config-model config-model-api config-provisioning component container-search container-core "
VESPA_PARTS += "searchlib model-integration"
RANKLIB = "0.2.0"  # of a fork, RankyMcRankFace, which the plugins of Elasticsearch and OpenSearch use
LUCENE = {"9.12.3": JAVA, "10.5.1": 21}  # and the Java that they need
WORDS = [f"w{i}" for i in range(60)]  # of documents; the first five are too frequent to look for
LEARNING_TO_RANK = """<query>
    <cache name="QUERY_DOC_FV" class="solr.search.CaffeineCache" size="4096" regenerator="solr.search.NoOpRegenerator"/>
  </query>
  <queryParser name="ltr" class="org.apache.solr.ltr.search.LTRQParserPlugin"/>
  <transformer name="features" class="org.apache.solr.ltr.response.transform.LTRFeatureLoggerTransformerFactory">
    <str name="fvCacheName">QUERY_DOC_FV</str>
  </transformer>"""


def user_queries(rng: np.random.Generator, n: int) -> dict[str, str]:
    """{query id: the two words that a user looks for}"""
    return {f"q{i}": " ".join(rng.choice(WORDS[5:], 2, replace=False)) for i in range(n)}


def unavailable(why: str) -> NoReturn:
    """Skip, or fail where the engines are required."""
    if os.environ.get("SPARSERANK_REQUIRE_ENGINES"):
        pytest.fail(why)
    pytest.skip(why)


def jars(artifacts: Sequence[str]) -> str:
    """The class path of artifacts, group:name:version, and of all that they need, and of the jars in plugins, which are
    group:name:version:zip; downloaded once."""
    listed = "".join(map(_dependency, artifacts))
    project = (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>sparserank</groupId><artifactId>engines</artifactId><version>1</version>"
        f"<dependencies>{listed}</dependencies></project>"
    )
    folder = CACHE / hashlib.sha256(project.encode()).hexdigest()[:16]
    found = folder / "classpath"
    if found.exists() and all(Path(jar).exists() for jar in found.read_text().split(os.pathsep)):
        return found.read_text()
    if shutil.which("mvn") is None:
        unavailable(f"the engines need Maven (mvn), which is not installed, for {', '.join(artifacts)}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(project)
    written = folder / "classpath.new"
    call = ["mvn", "-B", "-q", f"-Dmaven.repo.local={CACHE / 'repository'}", RESOLVE, f"-Dmdep.outputFile={written}"]
    try:
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        unavailable(f"{REGISTRY} did not serve {', '.join(artifacts)} within ten minutes")
    if done.returncode != 0:
        why = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr)
        unavailable(f"{REGISTRY} does not serve {', '.join(artifacts)}: {why}")
    paths = written.read_text().split(os.pathsep)
    for plugin in [path for path in paths if path.endswith(".zip")]:
        inside = folder / Path(plugin).stem
        shutil.unpack_archive(plugin, inside)
        paths.remove(plugin)
        paths += map(str, sorted(inside.glob("*.jar")))
    written.write_text(os.pathsep.join(paths))
    written.replace(found)
    return found.read_text()


def _dependency(artifact: str) -> str:
    """In the words of a project of Maven; a plugin brings all that it needs."""
    group, name, version, *kind = artifact.split(":")
    without = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"{''.join(f'<type>{of}</type>{without}' for of in kind)}</dependency>"
    )


def java(least: int) -> str:
    """The program of a JDK of this version or a later one: that of JAVA_HOME, of the path, or any."""
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    named = [str(Path(home, "bin", "java"))] if home else []
    others = sorted(map(str, Path("/usr/lib/jvm").glob("*/bin/java")))
    for program in [*named, *([on_path] if on_path else []), *others]:
        said = subprocess.run([program, "-version"], capture_output=True, text=True).stderr
        found = re.search(r'version "(\d+)', said)
        if found and int(found[1]) >= least:
            return program
    if least > JAVA:
        pytest.skip(f"no Java of version {least} or later")
    unavailable(f"the engines need a JDK of version {least} or later (java), which is not installed")


class Server:
    """A running server; paths are relative to its address."""

    def __init__(self, url: str, version: str) -> None:
        self.url, self.version = url, version

    def send(self, path: str, content: Any = None, method: str | None = None) -> Any:
        """The answer to a request with JSON; content: a value, or the text of a file."""
        text = content if isinstance(content, str) else None if content is None else json.dumps(content)
        return self._answer(path, text, "application/json", method)

    def search(self, **parameters: Any) -> Any:
        """The answer of Solr to a query."""
        return self._answer("/select", urlencode(parameters), "application/x-www-form-urlencoded", None)

    def _answer(self, path: str, text: str | None, kind: str, method: str | None) -> Any:
        body = None if text is None else text.encode()
        request = urllib.request.Request(self.url + path, body, {"Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read().decode()[:2000]}") from error


def lucene_artifacts(version: str) -> list[str]:
    """What expressions over an index need."""
    return [f"org.apache.lucene:lucene-{part}:{version}" for part in ("core", "expressions", "queries")]


def lucene(program: str, version: str, *arguments: Path) -> str:
    """What a program in lucene/ prints."""
    path = jars(lucene_artifacts(version))
    return printed(path, Path(__file__).parent / "lucene" / f"{program}.java", *arguments, least=LUCENE[version])


def vespa(*arguments: object) -> list[float]:
    """The scores that Vespa.java prints."""
    path = jars([f"com.yahoo.vespa:{part}:{VESPA}" for part in VESPA_PARTS.split()])
    return list(map(float, printed(path, SOURCES / "Vespa.java", *arguments).splitlines()))


def ranklib(model: Path, documents: Path, scores: Path) -> None:
    """The scores of documents in LETOR's format, by RankLib, into a file."""
    given = "-load", model, "-rank", documents, "-score", scores, "-sparse"
    printed(jars([f"com.o19s:RankyMcRankFace:{RANKLIB}"]), "ciir.umass.edu.eval.Evaluator", *given)


def printed(path: str, program: Path | str, *arguments: object, least: int = JAVA) -> str:
    """What a program prints: a class of the jars, or a file."""
    call = [java(least), "-XX:+UseSerialGC", "-cp", path, str(program), *map(str, arguments)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@contextmanager
def started(program: str, path: str, folder: Path, least: int = JAVA) -> Iterator[int]:
    """The port of a launcher in engines/, with its data in a folder, which is ended in the end."""
    call = [java(least), "-Xmx512m", "-XX:+UseSerialGC", "-cp", path, str(SOURCES / f"{program}.java"), str(folder)]
    log = folder / "server.log"
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with log.open("w") as errors, subprocess.Popen(call, stderr=errors, **piped) as process:
        try:
            ports = (line.split()[1] for line in process.stdout or () if line.startswith("port "))
            port = next(ports, None)
            assert port is not None, log.read_text()[-4000:]
            yield int(port)
        finally:
            process.kill()


@contextmanager
def solr(version: str, folder: Path) -> Iterator[Server]:
    """A Solr server with one core, `products`."""
    path = jars(SOLR[version])
    core = folder / "products"
    (core / "conf").mkdir(parents=True)
    (folder / "solr.xml").write_text("<solr/>")
    (core / "core.properties").write_text("name=products\n")
    config = (SOURCES / "solr" / "solrconfig.xml").read_text()
    module = LEARNING_TO_RANK if any("solr-ltr" in artifact for artifact in SOLR[version]) else ""
    (core / "conf" / "solrconfig.xml").write_text(config.replace("VERSION", version).replace("MODULE", module))
    shutil.copy(SOURCES / "solr" / "schema.xml", core / "conf")
    with started("Solr", path, folder) as port:
        yield Server(f"http://127.0.0.1:{port}/solr/products", version)


@contextmanager
def opensearch(version: str, folder: Path, plugins: Sequence[str] = ()) -> Iterator[Server]:
    """A node of OpenSearch."""
    with started("OpenSearch", jars([*OPENSEARCH[version], *plugins]), folder, NEWER.get(version, JAVA)) as port:
        yield Server(f"http://127.0.0.1:{port}", version)
