"""The files of deploy/ can be parsed, and what they name exists: metrics, paths, users, credentials."""

from __future__ import annotations

import json
import re
from configparser import ConfigParser

import pytest
import yaml

from bot.http.asgi import SLACK
from bot.server import KEEP_ALIVE_SECONDS
from bot.telemetry.metrics import REGISTRY
from shared.settings.sections import SECRETS, VARIABLES
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


@pytest.mark.parametrize("path", ["proxy/Caddyfile", "proxy/nginx.conf"])
def test_a_proxy_forwards_what_slack_and_the_service_call_and_nothing_else(path: str) -> None:
    lines = (DEPLOY / path).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    assert SLACK.split("/")[1] in text
    assert "webhooks/outreach" in text
    # How the bot is doing is for those who run it, and each look costs it a query of its database.
    assert not re.search(r"metrics|readyz|healthz", text)


@pytest.mark.parametrize("path", ["proxy/Caddyfile", "proxy/nginx.conf"])
def test_a_proxy_closes_idle_connections_before_the_bot_does(path: str) -> None:
    seconds = [
        int(found) for found in re.findall(r"keepalive(?:_timeout)? (\d+)s", (DEPLOY / path).read_text())
    ]
    assert len(seconds) == 1
    # If the bot closed first, the proxy could send a delivery into a connection that ends.
    assert seconds[0] < KEEP_ALIVE_SECONDS


def test_every_file_of_yaml_json_and_units_can_be_parsed() -> None:
    for file in sorted(DEPLOY.rglob("*.y*ml")):
        assert isinstance(yaml.safe_load(file.read_text()), dict), file
    assert isinstance(json.loads((DEPLOY / "monitoring/grafana.json").read_text()), dict)
    for file in sorted((DEPLOY / "systemd").glob("*.service")):
        unit = ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str  # type: ignore[assignment, method-assign] # keys keep their case
        unit.read_string(file.read_text())
        assert set(unit.sections()) == {"Unit", "Service", "Install"}, file
        assert "ExecStart" in unit["Service"]


def test_compose_builds_the_image_and_mounts_the_folder_that_it_keeps_its_state_in() -> None:
    image = (DEPLOY / "container/Containerfile").read_text()
    compose = yaml.safe_load((DEPLOY / "container/compose.yaml").read_text())
    (folder,) = re.findall(r"OUTREACH_STATE_DIR=(\S+)", image)
    bot = compose["services"]["bot"]
    assert bot["build"]["dockerfile"].endswith("Containerfile")
    assert bot["read_only"] is True
    assert any(folder in str(mount) for mount in (*bot.get("volumes", ()), *bot.get("tmpfs", ())))
    # By number: Kubernetes can't see that a name isn't root.
    assert re.search(r"^USER \d+:\d+$", image, re.MULTILINE)


def test_prometheus_asks_where_the_details_are() -> None:
    unit = (DEPLOY / "systemd/outreach-bot.service").read_text()
    image = (DEPLOY / "container/Containerfile").read_text()
    scraped = yaml.safe_load((DEPLOY / "monitoring/prometheus.yml").read_text())["scrape_configs"]
    address = scraped[0]["static_configs"][0]["targets"][0]
    port = address.partition(":")[2]
    assert f"OUTREACH_METRICS_LISTEN={address}\n" in unit
    assert f"OUTREACH_METRICS_LISTEN=0.0.0.0:{port}\n" in image


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
