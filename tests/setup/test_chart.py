"""The Helm chart: linted and rendered by Helm, held against the schemas of Kubernetes and our code.

No cluster and no network is needed. Helm and the schemas are Python packages
(requirements/deployment.lock).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.jobs.queues import QUEUES
from testbed.servers import ROOT
from tests.setup.test_compose import dockerfile
from tests.support.deployment import (
    NOT_GIVEN,
    OF_LIBRARIES,
    ONLY_FOR,
    check_command,
    documented_settings,
    known_variables,
    settings_missing,
)

helm = pytest.importorskip("helm_python", reason="Helm is not installed: make .venv/.deployment")
kubernetes_validate = pytest.importorskip("kubernetes_validate")

CHART = ROOT / "deploy/helm/likewise"
EXAMPLES = {path.stem: path for path in (ROOT / "deploy/helm/examples").glob("*.yaml")}
# The oldest version that Chart.yaml allows, and the newest that the package knows.
VERSIONS = ("1.27", "1.37")
# Kinds that operators define; Kubernetes has no schema for them.
OF_OPERATORS = {
    ("keda.sh/v1alpha1", "ScaledObject"),
    ("monitoring.coreos.com/v1", "ServiceMonitor"),
}
Manifest = dict[str, Any]


def values_of(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(EXAMPLES[name].read_text())
    return loaded


def rendered(values: dict[str, Any]) -> list[Manifest]:
    """All manifests of a release called `lab`."""
    with helm.Chart.load(str(CHART)) as chart:
        chart.validate_schema(values)
        files = chart.render(values, name="lab", namespace="research")
    return [
        manifest
        for name, text in sorted(files.items())
        if not name.endswith(".txt")
        for manifest in yaml.safe_load_all(text)
        if manifest
    ]


def settings_of(values: dict[str, Any], **settings: str) -> dict[str, Any]:
    return {**values, "settings": {**values.get("settings", {}), **settings}}


@pytest.fixture(scope="module")
def all_manifests() -> dict[str, list[Manifest]]:
    return {name: rendered(values_of(name)) for name in EXAMPLES}


def by_kind(manifests: list[Manifest], kind: str) -> dict[str, Manifest]:
    return {
        manifest["metadata"]["name"]: manifest for manifest in manifests if manifest["kind"] == kind
    }


def pods(manifests: list[Manifest]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and pod specification of everything that runs."""
    for manifest in manifests:
        if manifest["kind"] in ("Deployment", "Job"):
            yield manifest["metadata"]["name"], manifest["spec"]["template"]["spec"]


def container(pod: dict[str, Any]) -> dict[str, Any]:
    [only] = pod["containers"]
    assert isinstance(only, dict)
    return only


def variables(manifests: list[Manifest], pod: dict[str, Any]) -> set[str]:
    """Names of the variables that a process finds."""
    runs = container(pod)
    names = {variable["name"] for variable in runs["env"]}
    for source in runs.get("envFrom", []):
        names |= set(by_kind(manifests, "ConfigMap")[source["configMapRef"]["name"]]["data"])
    return names


def test_there_are_examples_of_little_and_of_everything() -> None:
    assert set(EXAMPLES) == {"minimal", "everything", "external-metrics"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_helm_finds_nothing_to_complain_of(name: str) -> None:
    report = helm.lint(str(CHART), values_of(name), strict=True)
    assert report["errors"] == []
    # 1: information, such as that an icon is recommended.
    assert [message for message in report["messages"] if message["severity"] > 1] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_are_what_kubernetes_expects(
    version: str, all_manifests: dict[str, list[Manifest]]
) -> None:
    n_validated = 0
    for manifests in all_manifests.values():
        for manifest in manifests:
            if (manifest["apiVersion"], manifest["kind"]) not in OF_OPERATORS:
                kubernetes_validate.validate(manifest, version, strict=True)
                n_validated += 1
    assert n_validated > 30


def test_a_misspelled_field_would_be_noticed(all_manifests: dict[str, list[Manifest]]) -> None:
    web = json.loads(
        json.dumps(by_kind(all_manifests["minimal"], "Deployment")["lab-likewise-web"])
    )
    web["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(web, VERSIONS[-1], strict=True)


def test_names_are_given_once(all_manifests: dict[str, list[Manifest]]) -> None:
    for manifests in all_manifests.values():
        names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests]
        assert len(names) == len(set(names))


def test_every_process_runs_a_command_that_exists(
    all_manifests: dict[str, list[Manifest]],
) -> None:
    ran = {name: container(pod)["args"] for name, pod in pods(all_manifests["everything"])}
    assert {name: " ".join(arguments) for name, arguments in ran.items()} == {
        "lab-likewise-migrate": "migrate",
        "lab-likewise-web": "serve",
        **{f"lab-likewise-{queue}": f"worker --queue {queue}" for queue in QUEUES},
        "lab-likewise-dispatcher": "dispatcher",
    }
    for arguments in ran.values():
        check_command(arguments)


def test_every_variable_is_one_that_something_reads(
    all_manifests: dict[str, list[Manifest]],
) -> None:
    known = known_variables() | OF_LIBRARIES
    for manifests in all_manifests.values():
        for name, pod in pods(manifests):
            assert variables(manifests, pod) <= known, name


def test_every_documented_setting_can_be_set_and_reaches_all_that_read_it() -> None:
    """Secrets by name, all others through the values' `settings`."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    others = set(schema["properties"]["settings"]["properties"]) - OF_LIBRARIES
    manifests = rendered(settings_of(values_of("everything"), **dict.fromkeys(others, "1")))
    for name, pod in pods(manifests):
        command = container(pod)["args"]
        if command != ["migrate"]:
            assert settings_missing(command, variables(manifests, pod)) == set(), name
    assert others <= documented_settings() - set(NOT_GIVEN) - set(ONLY_FOR)


def test_large_numbers_stay_as_they_are_written() -> None:
    values = settings_of(values_of("minimal"), LIKEWISE_MAX_UPLOAD_BYTES="536870912")
    settings = by_kind(rendered(values), "ConfigMap")["lab-likewise"]["data"]
    assert settings["LIKEWISE_MAX_UPLOAD_BYTES"] == "536870912"
    # Helm would write it as 5.36870912e+08.
    values["settings"]["LIKEWISE_MAX_UPLOAD_BYTES"] = 536870912
    with pytest.raises(helm.HelmError, match="got number, want string"):
        rendered(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"LIKEWISE_LEESE_SECONDS": "5"}}, "LIKEWISE_LEESE_SECONDS"),
        ({"storageUrl": "file:///data/storage"}, "storageUrl"),
        ({"baseUrl": "https://likewise.example.org/path"}, "baseUrl"),
        ({"secrets": {"secretKey": "short"}}, "secretKey"),
        ({"secrets": {"existingSecret": ""}}, "Set secrets.databaseUrl"),
        ({"baseUrl": ""}, "Set baseUrl"),
        ({"storageUrl": ""}, "Set storageUrl"),
    ],
)
def test_values_that_cannot_work_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(helm.HelmError, match=message):
        rendered({**values_of("minimal"), **change})


def test_secrets_are_only_in_secrets(all_manifests: dict[str, list[Manifest]]) -> None:
    secrets = [value for value in values_of("everything")["secrets"].values() if value]
    for manifest in all_manifests["everything"]:
        if manifest["kind"] != "Secret":
            text = json.dumps(manifest)
            assert not [secret for secret in secrets if len(secret) > 10 and secret in text]


def test_a_secret_of_somebody_else_is_used_and_none_created(
    all_manifests: dict[str, list[Manifest]],
) -> None:
    manifests = all_manifests["minimal"]
    assert by_kind(manifests, "Secret") == {}
    for _, pod in pods(manifests):
        keys = [
            variable["valueFrom"]["secretKeyRef"]
            for variable in container(pod)["env"]
            if "valueFrom" in variable
        ]
        assert {key["name"] for key in keys} == {"likewise-secrets"}
        required = {key["key"] for key in keys if not key.get("optional")}
        assert required == {"DATABASE_URL", "REDIS_URL", "LIKEWISE_SECRET_KEY"}


def test_migrations_run_before_everything_else(all_manifests: dict[str, list[Manifest]]) -> None:
    for name, manifests in all_manifests.items():
        [job] = by_kind(manifests, "Job").values()
        hook = job["metadata"]["annotations"]
        assert hook["helm.sh/hook"] == "pre-install,pre-upgrade"
        pod = job["spec"]["template"]["spec"]
        # What it reads must be there before: somebody else's, or of an earlier hook.
        read = {variable["valueFrom"]["secretKeyRef"]["name"] for variable in container(pod)["env"]}
        assert "envFrom" not in container(pod)
        assert "serviceAccountName" not in pod
        if name == "everything":
            [secret] = read
            before = by_kind(manifests, "Secret")[secret]["metadata"]["annotations"]
            assert before["helm.sh/hook"] == hook["helm.sh/hook"]
            assert int(before["helm.sh/hook-weight"]) < int(hook["helm.sh/hook-weight"])
        else:
            assert read == {"likewise-secrets"}


def test_pods_run_as_the_image_s_user_and_write_nowhere_else(
    all_manifests: dict[str, list[Manifest]],
) -> None:
    [user] = [
        re.search(r"useradd --uid (\d+)", arguments)
        for name, arguments in dockerfile()
        if name == "RUN" and "useradd" in arguments
    ]
    assert user is not None
    for manifests in all_manifests.values():
        for name, pod in pods(manifests):
            assert pod["securityContext"]["runAsNonRoot"] is True
            assert pod["securityContext"]["runAsUser"] == int(user[1])
            assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            assert pod["automountServiceAccountToken"] is False
            assert container(pod)["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            written = {mount["mountPath"] for mount in container(pod)["volumeMounts"]}
            # Temporary files, and LIKEWISE_DATA with the home folder.
            assert written == {"/tmp", "/data"}


def test_the_web_server_is_asked_where_it_answers(
    all_manifests: dict[str, list[Manifest]],
) -> None:
    for manifests in all_manifests.values():
        web = container(dict(pods(manifests))["lab-likewise-web"])
        [port] = web["ports"]
        assert str(port["containerPort"]) == dict(dockerfile())["EXPOSE"]
        probes = {name: web[f"{name}Probe"]["httpGet"]["path"]
                  for name in ("startup", "readiness", "liveness")}  # fmt: skip
        # A failure that all pods share must not take all of them away.
        assert probes == {"startup": "/readyz", "readiness": "/healthz", "liveness": "/healthz"}
        [service] = by_kind(manifests, "Service").values()
        assert service["spec"]["ports"][0]["targetPort"] == port["name"]
        pod_labels = by_kind(manifests, "Deployment")["lab-likewise-web"]["spec"]["template"][
            "metadata"
        ]["labels"]
        assert service["spec"]["selector"].items() <= pod_labels.items()


def test_annotators_are_never_without_a_web_server_during_an_upgrade(
    all_manifests: dict[str, list[Manifest]],
) -> None:
    for manifests in all_manifests.values():
        web = by_kind(manifests, "Deployment")["lab-likewise-web"]["spec"]
        assert web["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
        grace = web["template"]["spec"]["terminationGracePeriodSeconds"]
        [_, pause] = container(web["template"]["spec"])["lifecycle"]["preStop"]["exec"]["command"]
        assert int(pause) < grace
        [budget] = by_kind(manifests, "PodDisruptionBudget").values()
        assert budget["spec"]["maxUnavailable"] == 1


def test_a_gpu_is_asked_for_by_its_worker_alone(all_manifests: dict[str, list[Manifest]]) -> None:
    limits = {
        name: container(pod)["resources"]["limits"]
        for name, pod in pods(all_manifests["everything"])
    }
    with_gpu = {name for name, limit in limits.items() if "nvidia.com/gpu" in limit}
    assert with_gpu == {"lab-likewise-learning-gpu"}
    deployment = by_kind(all_manifests["everything"], "Deployment")["lab-likewise-learning-gpu"]
    # Another pod could not start before the first has given its GPU back.
    assert deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 0
    assert deployment["spec"]["template"]["spec"]["nodeSelector"] == {
        "nvidia.com/gpu.present": "true"
    }
    assert "lab-likewise-learning-gpu" not in dict(pods(all_manifests["minimal"]))


def test_autoscalers_set_the_replicas_alone(all_manifests: dict[str, list[Manifest]]) -> None:
    for manifests in all_manifests.values():
        scaled = {
            manifest["spec"]["scaleTargetRef"]["name"]
            for manifest in manifests
            if manifest["kind"] in ("HorizontalPodAutoscaler", "ScaledObject")
        }
        deployments = by_kind(manifests, "Deployment")
        assert scaled <= set(deployments)
        assert scaled == {
            name for name, each in deployments.items() if "replicas" not in each["spec"]
        }


def metric_labels() -> set[str]:
    """The labels of `likewise_job_oldest_seconds`, as app/operations/figures.py names them."""
    from app.operations import figures

    source = Path(figures.__file__).read_text()
    assert "likewise_job_oldest_seconds" in source
    assert 'by_state = ("kind", "state")' in source
    assert 'labels=(*by_state, "queue")' in source
    return {"kind", "state", "queue"}


def test_workers_are_scaled_by_how_long_trainings_wait(
    all_manifests: dict[str, list[Manifest]],
) -> None:
    scaled = by_kind(all_manifests["everything"], "ScaledObject")
    for queue in ("learning", "learning-gpu"):
        waiting, running = scaled[f"lab-likewise-{queue}"]["spec"]["triggers"]
        labels = dict(re.findall(r'(\w+)="([^"]+)"', waiting["metadata"]["query"]))
        assert "likewise_job_oldest_seconds{" in waiting["metadata"]["query"]
        assert labels == {"kind": "learn", "state": "queued", "queue": queue}
        assert set(labels) == metric_labels()
        assert 'state="running"' in running["metadata"]["query"]
    assert scaled["lab-likewise-learning-gpu"]["spec"]["minReplicaCount"] == 0
    adapters = by_kind(all_manifests["external-metrics"], "HorizontalPodAutoscaler")
    for queue in ("learning", "learning-gpu"):
        spec = adapters[f"lab-likewise-{queue}"]["spec"]
        [metric] = spec["metrics"]
        assert metric["external"]["metric"] == {
            "name": "likewise_job_oldest_seconds",
            "selector": {"matchLabels": {"kind": "learn", "state": "queued", "queue": queue}},
        }
        # Kubernetes refuses none at all here.
        assert spec["minReplicas"] >= 1


def test_the_release_is_the_version_of_the_program() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["appVersion"]}"' in project


def test_every_value_has_a_schema_and_is_in_it() -> None:
    """All objects of the schema are closed, so that a misspelled value is refused."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())

    def compare(values: dict[str, Any], known: dict[str, Any], place: str) -> None:
        if "properties" not in known:
            return
        assert known["additionalProperties"] is False, place
        names = set(known["properties"]) - {"global"}
        if place != ".settings":
            assert set(values) == names, place
        for name, value in values.items():
            if isinstance(value, dict):
                compare(value, known["properties"][name], f"{place}.{name}")

    compare(defaults, schema, "")
