"""No code makes markup, SQL or programs of text, but where it is listed here with its reason."""

import subprocess
import sys

import pytest

from testbed.servers import ROOT
from tests.support.dangerous import dangerous_code, dangerous_in

MARKDOWN = "Made of Markdown by app/core/markdown.py, which nh3 has cleaned."
ALLOWED = {
    ("frontend/src/annotator/Annotator.svelte", "{@html campaign.consent_html}"): MARKDOWN,
    ("frontend/src/annotator/Instructions.svelte", "{@html campaign.instructions_html}"): MARKDOWN,
    ("frontend/src/annotator/Look.svelte", "{@html campaign.instructions_html}"): MARKDOWN,
    ("frontend/src/annotator/EndingView.svelte", "{@html campaign.thanks_html}"): MARKDOWN,
    ("frontend/src/annotator/Done.svelte", "{@html campaign.thanks_html}"): MARKDOWN,
    ("frontend/src/annotator/WayOut.svelte", "{@html screenOutHtml}"): MARKDOWN,
    ("app/templates/documents/guide.html", "{{ html | safe }}"): (
        "Made of our own documents by app/core/documents.py, which nh3 has cleaned."
    ),
    ("app/archive/checks.py", 'text(f"{query} LIMIT 1"'): (
        "Queries written out in that file; values are bound."
    ),
    **dict.fromkeys(
        [
            (
                "app/core/row_security.py",
                'text(f"GRANT USAGE ON SCHEMA {_schema(connection)} TO {ROLE}"',
            ),
            ("app/core/row_security.py", "text(f'REVOKE ALL ON \""),
            ("app/core/row_security.py", "text(f'GRANT {allowed} ON \""),
            ("app/core/row_security.py", "text(f'GRANT USAGE ON \""),
        ],
        "Names of roles and tables cannot be bound; they come from the catalog and this file.",
    ),
}
SCRIPTS = {
    "markup in a component": "<p>{@html group.description}</p>",
    "markup of an element": "node.innerHTML = words",
    "markup in place of an element": "node.outerHTML = words",
    "markup beside an element": "node.insertAdjacentHTML('beforeend', words)",
    "markup written": "document.write(words)",
    "markup of a frame": "<iframe srcdoc={words}></iframe>",
    "a program": "const it = eval(words)",
    "a function of text": "const it = new Function(words)",
}
PYTHON = {
    "pickles of arrays": "numpy.load(path, allow_pickle=True)",
    "a shell": "subprocess.run(words, shell=True)",
    "a template that escapes nothing": "Environment(autoescape=False)",
    "TLS to anybody": "httpx.Client(verify=False)",
    "TLS without certificates": "context.verify_mode = ssl.CERT_NONE",
    "TLS for another name": "context.check_hostname = False",
    "TLS as it was once": "ssl._create_unverified_context()",
    "SQL made of text": "session.execute(text(f'SELECT {words}'))",
}
TEMPLATES = {
    "markup in a template": "{{ campaign.name | safe }}",
    "a part that escapes nothing": "{% autoescape false %}{{ campaign.name }}{% endautoescape %}",
}
# By the rule of ruff that finds it.
RUFF = {
    "S102": "exec(words)",
    "S301": "import pickle\npickle.loads(words)",
    "S302": "import marshal\nmarshal.loads(words)",
    "S307": "eval(words)",
    "S506": "import yaml\nyaml.load(words)",
    "S602": "import subprocess\nsubprocess.run(words, shell=True)",
    "S605": "import os\nos.system(words)",
    "S608": 'query = f"SELECT * FROM image WHERE filename = {words}"',
    "S701": "import jinja2\njinja2.Environment(autoescape=False)",
    "S704": "from markupsafe import Markup\nMarkup(words)",
}
BANNED = (
    "import pickle",
    "import _pickle",
    "import cPickle",
    "import cloudpickle",
    "import dill",
    "import joblib",
    "import marshal",
    "import shelve",
    "import torch\n\ntorch.load(path)",
    "import torch\n\ntorch.jit.load(path)",
    "import pandas as pd\n\npd.read_pickle(path)",
    "from torch import load\n\nload(path)",
    "import yaml\n\nyaml.load(words, yaml.Loader)",
    "import os\n\nos.system(words)",
)


def test_dangerous_code_is_where_it_is_listed_and_nowhere_else() -> None:
    findings = dangerous_code()
    unlisted = [finding for finding in findings if (finding.path, finding.code) not in ALLOWED]
    assert unlisted == []
    assert set(ALLOWED) == {(finding.path, finding.code) for finding in findings}, (
        "what is gone is still listed"
    )


@pytest.mark.parametrize("code", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize("suffix", ["svelte", "ts"])
def test_a_script_that_makes_markup_of_text_is_found(suffix: str, code: str) -> None:
    (finding,) = dangerous_in(f"frontend/src/one.{suffix}", f"first line\n{code}\n")
    assert finding.line == 2


@pytest.mark.parametrize("code", PYTHON.values(), ids=PYTHON)
def test_python_that_runs_text_is_found(code: str) -> None:
    assert len(dangerous_in("app/one.py", code)) == 1


@pytest.mark.parametrize("code", TEMPLATES.values(), ids=TEMPLATES)
def test_a_template_that_does_not_escape_is_found(code: str) -> None:
    assert len(dangerous_in("app/templates/one.html", code)) == 1


def test_harmless_code_is_not_found() -> None:
    assert dangerous_in("app/one.py", "numpy.load(path, allow_pickle=False)\nas_text(f'{a}')") == []
    assert dangerous_in("app/one.py", "verify(a)\nssl.create_default_context()\nverify=True") == []
    assert dangerous_in("frontend/src/one.ts", "page.evaluate(it); model.eval()") == []


def rules_broken_by(code: str) -> set[str]:
    """Rules of ruff, with the settings of the repository, as `make lint` uses them."""
    command = [sys.executable, "-m", "ruff", "check", "--output-format", "concise"]
    done = subprocess.run(
        [*command, "--stdin-filename", "app/one.py", "-"],
        cwd=ROOT,
        input=code + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    places = (line.split() for line in done.stdout.splitlines() if line.startswith("app/one.py:"))
    return {place[1] for place in places}


@pytest.mark.parametrize(("rule", "code"), RUFF.items(), ids=RUFF)
def test_ruff_finds_code_that_runs_text(rule: str, code: str) -> None:
    assert rule in rules_broken_by(code)


@pytest.mark.parametrize("code", BANNED)
def test_ruff_finds_formats_that_run_when_they_are_read(code: str) -> None:
    assert "TID251" in rules_broken_by(code)
