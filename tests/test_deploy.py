"""What deploy/ names exists: metrics, paths, commands. `make check-deploy` checks each file with its own tool."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from bot.http.asgi import SLACK
from bot.server import KEEP_ALIVE_SECONDS
from bot.telemetry.metrics import REGISTRY
from shared.settings.declarations import SECRETS, VARIABLES
from tests.test_docs import ROOT

pytestmark = pytest.mark.lint
DEPLOY = ROOT / "deploy"
METRIC = re.compile(r"\b(?:outreach|process)_[a-z_]+\b")


def exported() -> set[str]:
    """Every name that a query may use."""
    suffixes = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
    return {family.name + suffix for family in REGISTRY.collect() for suffix in suffixes[family.type]}


def queries() -> list[str]:
    rules = yaml.safe_load((DEPLOY / "monitoring/rules.yml").read_text())
    dashboard = json.loads((DEPLOY / "monitoring/grafana.json").read_text())
    found = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    return found + [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def test_every_query_asks_for_metrics_that_the_bot_exports() -> None:
    known = exported()
    named = [(query, metric) for query in queries() for metric in METRIC.findall(query)]
    assert len(named) > 20
    assert [(query, metric) for query, metric in named if metric not in known] == []


def test_every_alert_says_what_to_do() -> None:
    rules = yaml.safe_load((DEPLOY / "monitoring/rules.yml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in {"page", "ticket"}
            assert rule["annotations"]["summary"]
            assert rule["annotations"]["action"]


@pytest.mark.parametrize("path", ["proxy/Caddyfile", "proxy/nginx.conf", "kubernetes/outreach.yaml"])
def test_a_proxy_forwards_what_slack_and_the_service_call_and_nothing_else(path: str) -> None:
    lines = (DEPLOY / path).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    assert SLACK.split("/")[1] in text
    assert "webhooks/outreach" in text
    if not path.startswith("kubernetes"):  # its probes are asked inside
        assert not re.search(r"metrics|readyz|healthz", text)


@pytest.mark.parametrize("path", ["proxy/Caddyfile", "proxy/nginx.conf"])
def test_a_proxy_closes_idle_connections_before_the_bot_does(path: str) -> None:
    seconds = [
        int(found) for found in re.findall(r"keepalive(?:_timeout)? (\d+)s", (DEPLOY / path).read_text())
    ]
    assert len(seconds) == 1
    assert seconds[0] < KEEP_ALIVE_SECONDS


def test_the_image_has_the_users_and_paths_that_the_manifests_expect() -> None:
    image = (DEPLOY / "container/Containerfile").read_text()
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes/outreach.yaml").read_text()))
    (deployment,) = [one for one in documents if one["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" in image
    assert f"EXPOSE {container['ports'][0]['containerPort']}" in image
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert f"OUTREACH_STATE_DIR={min(mounts - {'/tmp'})}" in image


def test_prometheus_asks_where_the_details_are() -> None:
    unit = (DEPLOY / "systemd/outreach-bot.service").read_text()
    image = (DEPLOY / "container/Containerfile").read_text()
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes/outreach.yaml").read_text()))
    (pod,) = [one["spec"]["template"] for one in documents if one["kind"] == "Deployment"]
    scraped = yaml.safe_load((DEPLOY / "monitoring/prometheus.yml").read_text())["scrape_configs"]
    address = scraped[0]["static_configs"][0]["targets"][0]
    port = address.partition(":")[2]
    assert f"OUTREACH_METRICS_LISTEN={address}\n" in unit
    assert f"OUTREACH_METRICS_LISTEN=0.0.0.0:{port}\n" in image
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == port
    (service,) = [one for one in documents if one["kind"] == "Service"]
    assert [entry["targetPort"] for entry in service["spec"]["ports"]] == ["http"]


def test_the_units_load_credentials_of_the_names_that_the_settings_have() -> None:
    secrets = {VARIABLES[path] for path in SECRETS if path in VARIABLES}
    loaded = {
        unit.name: set(re.findall(r"^LoadCredential=(\S+)$", unit.read_text(), re.MULTILINE))
        for unit in (DEPLOY / "systemd").glob("*.service")
    }
    assert loaded["outreach-bot.service"] == secrets
    assert {"OUTREACH_API_KEY", "OUTREACH_DATABASE_URL"} <= loaded["outreach-dashboard@.service"] <= secrets


def test_the_unit_of_the_dashboard_gives_it_the_console_that_it_draws_on() -> None:
    """Textual's Linux driver draws on stderr."""
    unit = (DEPLOY / "systemd/outreach-dashboard@.service").read_text()
    assert re.findall(r"^Standard(Input|Error)=(\S+)$", unit, re.MULTILINE) == [
        ("Input", "tty-force"),
        ("Error", "tty"),
    ]


def test_the_network_policy_and_the_pod_monitor_select_the_pods_and_ports_of_the_deployment() -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes/outreach.yaml").read_text()))
    (pod,) = [one["spec"]["template"] for one in documents if one["kind"] == "Deployment"]
    ports = {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
    policy = yaml.safe_load((DEPLOY / "kubernetes/network.yaml").read_text())["spec"]
    monitor = yaml.safe_load((DEPLOY / "kubernetes/podmonitor.yaml").read_text())["spec"]
    labels = pod["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"] == monitor["selector"]["matchLabels"] == labels
    opened = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
    assert opened == ports
    assert {endpoint["port"] for endpoint in monitor["podMetricsEndpoints"]} <= ports
    assert all(rule["from"] for rule in policy["ingress"])  # an empty one would admit everybody
