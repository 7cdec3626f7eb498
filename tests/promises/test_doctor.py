"""`outreach doctor` names what is wrong and what fixes it, and changes nothing."""

from __future__ import annotations

from tests.kit import Account, Shell, Team

Findings = dict[str, dict[str, str]]


async def findings(shell: Shell, *, code: int) -> Findings:
    run = await shell.type("doctor", "--json")
    assert run.code == code, run.out
    for secret in ("wrong_key", "wrong-token"):
        assert secret not in run.out + run.err
    return {finding["check"]: finding for finding in run.data}


def failed(found: Findings) -> set[str]:
    bad = {check for check, finding in found.items() if finding["status"] == "failed"}
    assert all(found[check]["fix"] for check in bad)
    return bad


async def test_a_whole_installation_passes_every_check(team: Team, shell: Shell) -> None:
    shell.use(team.environ)
    url = f"{team.url}/webhooks/outreach"
    assert (await shell.type("webhooks", "create", "--url", url)).code == 0
    before = await team.messages()
    found = await findings(shell, code=0)
    names = {"Configuration", "API key of default", "Clock", "Slack token", "Slack scopes", "Database"}
    assert names | {"Bot", "Bot's database", "Webhook address", "DNS resolvers"} <= found.keys()
    assert await team.messages() == before, "a trial with a forged signature is stored nowhere"


async def test_each_problem_has_its_fix(team: Team, shell: Shell) -> None:
    shell.use(team.environ)
    url = f"{team.url}/metrics/webhooks/outreach"
    assert (await shell.type("webhooks", "create", "--url", url)).code == 0
    assert failed(await findings(shell, code=1)) == {"Webhook address"}
    shell.set("OUTREACH_DATABASE_URL", f"sqlite:///{shell.home}/other.db")
    shell.set("OUTREACH_API_KEY", "live_wrong_key")
    shell.set("SLACK_BOT_TOKEN", "xoxb-wrong-token")
    shell.unset("OUTREACH_WEBHOOK_SECRET")
    wrong = {"API key of default", "Slack token", "Webhook secrets of default", "Bot's database"}
    assert failed(await findings(shell, code=1)) == wrong
    shell.set("OUTREACH_DATABASE_URL", "sqlite:////proc/outreach.db")
    assert "Database" in failed(await findings(shell, code=1))


async def test_missing_settings_are_findings_and_the_rest_is_still_checked(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    found = await findings(shell, code=1)
    assert found["API key of default"]["status"] == "passed"
    assert found["Bot"]["status"] == "warning"
    assert "SLACK_BOT_TOKEN" in (await shell.type("doctor")).out


async def test_channels_files_and_resolvers_are_checked(team: Team, shell: Shell) -> None:
    shell.use(team.environ)
    config = shell.home / "outreach.toml"
    config.write_text('[[routes.rules]]\nchannel = "C0NOWHERE2"\nevents = ["lead.bounced"]\n')
    shell.set("OUTREACH_CONFIG", str(config))
    config.chmod(0o644)
    shell.set("OUTREACH_DNS_ENABLED", "true")
    shell.set("OUTREACH_DNS_RESOLVERS", "127.0.0.1:1")
    found = await findings(shell, code=1)
    assert "/invite @outreach" in found["Slack channel C0NOWHERE2"]["fix"]
    assert found["Slack channel C0ALERTS01"]["status"] == "passed"
    assert "chmod" in found["Configuration"]["fix"]
    assert "never alerted" in found["DNS resolvers"]["found"]
    shell.set("OUTREACH_DNS_ENABLED", "false")
    config.chmod(0o600)
    found = await findings(shell, code=1)
    assert (found["Configuration"]["status"], found["DNS resolvers"]["status"]) == ("passed", "passed")
