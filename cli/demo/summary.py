"""What the demo proved, as figures: every alert accounted for, how fast, and how the request limit was kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

ALERTING = frozenset({"reply.interested", "domain.paused"})
"""The kinds that are posted at once (contract, section 5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A distinct delivery body as the service saw it; `first_at` and the like are wall-clock seconds."""

    digest: str
    """SHA-256 of the raw body, hexadecimal."""
    kind: str
    first_at: float
    accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A message as Slack has it: which delivery it tells of, and when it was posted."""

    digest: str
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
        """Whether every alert was posted, once."""
        return not self.lost and not self.doubled


def summarise(
    sent: Iterable[Sent],
    posted: Iterable[Posted],
    *,
    command_seconds: Sequence[float],
    requests: Mapping[str, int],
    bot_restarts: int,
) -> Summary:
    """Hold what the service delivered against what Slack shows."""
    sent = list(sent)
    due = {one.digest: one for one in sent if one.accepted and one.kind in ALERTING}
    posts = [one for one in posted if one.digest in due]
    count = Counter(one.digest for one in posts)
    delays = [(one.at - due[one.digest].first_at) * 1000 for one in posts]
    commands = [seconds * 1000 for seconds in command_seconds]
    return Summary(
        deliveries=sum(one.accepted for one in sent),
        alerts_due=len(due),
        alerts_posted=len(count),
        lost=len(due) - len(count),
        doubled=sum(times - 1 for times in count.values()),
        post_p50=percentile(delays, 50),
        post_p99=percentile(delays, 99),
        command_p50=percentile(commands, 50),
        command_p99=percentile(commands, 99),
        requests=requests.get("requests", 0),
        throttled=requests.get("throttled", 0),
        worst_second=requests.get("worst_second", 0),
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
