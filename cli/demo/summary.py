"""What the demo proved, as figures: every alert accounted for, how fast, and how the request limit was kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

ALERTING = frozenset({"reply.interested", "domain.paused"})
"""The kinds that are posted at once (contract, section 5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A distinct alerting delivery as the service saw it; `at` in wall-clock seconds."""

    alert: str
    kind: str
    at: float
    accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A message as Slack has it: which alerts it tells of, and when it was posted."""

    alerts: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The demo's closing figures; times in milliseconds."""

    deliveries: int
    alerts_due: int
    alerts_posted: int
    lost: int
    doubled: int
    post_p50: float | None
    post_p99: float | None
    command_p50: float | None
    command_p99: float | None
    requests: int
    throttled: int
    worst_second: int
    bot_restarts: int

    @property
    def kept_its_promise(self) -> bool:
        return not self.lost and not self.doubled


def summarise(
    sent: Iterable[Sent],
    posted: Iterable[Posted],
    *,
    deliveries: int,
    command_seconds: Sequence[float],
    requests: Mapping[str, int],
    bot_restarts: int,
) -> Summary:
    """Hold what the service delivered against what Slack shows."""
    due = {one.alert: one for one in sent if one.accepted}
    shown = [(alert, post.at) for post in posted for alert in post.alerts if alert in due]
    count = Counter(alert for alert, _ in shown)
    delays = [(at - due[alert].at) * 1000 for alert, at in shown]
    commands = [seconds * 1000 for seconds in command_seconds]
    return Summary(
        deliveries=deliveries,
        alerts_due=len(due),
        alerts_posted=len(count),
        lost=len(due) - len(count),
        doubled=sum(times - 1 for times in count.values()),
        post_p50=percentile(delays, 50),
        post_p99=percentile(delays, 99),
        command_p50=percentile(commands, 50),
        command_p99=percentile(commands, 99),
        requests=requests["requests"],
        throttled=requests["throttled"],
        worst_second=requests["worst_second"],
        bot_restarts=bot_restarts,
    )


def percentile(values: Iterable[float], share: float) -> float | None:
    """The nearest-rank percentile, or None of nothing."""
    ranked = sorted(values)
    if not ranked:
        return None
    return ranked[min(len(ranked) - 1, max(0, round(share / 100 * len(ranked) + 0.5) - 1))]


def lines(summary: Summary) -> list[str]:
    """The summary for people, a line a promise."""
    requests = (
        f"{summary.requests}, of them 429: {summary.throttled}, most in one second: {summary.worst_second}"
    )
    alerts = f"{summary.alerts_posted} of {summary.alerts_due} posted, {summary.lost} lost, {summary.doubled} doubled"
    return [
        f"deliveries made         {summary.deliveries}",
        f"alerts                  {alerts}",
        f"delivery to Slack       p50 {_ms(summary.post_p50)}, p99 {_ms(summary.post_p99)}",
        f"slash command answered  p50 {_ms(summary.command_p50)}, p99 {_ms(summary.command_p99)}",
        f"requests to the API     {requests}",
        f"bot restarts            {summary.bot_restarts}",
    ]


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} ms"
