"""The look of the page: one style sheet for light, dark, phones and paper, and the agency's color made legible. Pure."""

from __future__ import annotations

import re

DEFAULT_COLOR = "#2563eb"
LIGHT, DARK = "#ffffff", "#15181c"
LEAST_CONTRAST = 3.0
"""WCAG 2.2, 1.4.11: graphics against their ground (https://www.w3.org/TR/WCAG22/#non-text-contrast)."""
COLOR = re.compile(r"#[0-9a-fA-F]{6}")

_SHEET = """
:root { color-scheme: light dark; --ground: LIGHT; --text: #1c2126; --faint: #5d6670; --line: #dfe3e7;
  --panel: #f6f7f9; --brand: BRAND_LIGHT; --second: #8a94a0; --good: #15803d; --warn: #b45309; --bad: #c42b2b; }
@media (prefers-color-scheme: dark) { :root { --ground: DARK; --text: #e7eaed; --faint: #9aa4ae; --line: #30363d;
  --panel: #1d2127; --brand: BRAND_DARK; --second: #7d8894; --good: #4ade80; --warn: #fbbf24; --bad: #f87171; }
  header img { background: #fff; padding: .3rem; border-radius: .4rem; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 0 1.5rem 3rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
header { display: flex; gap: 1rem; align-items: center; flex-wrap: wrap; padding: 1.5rem 0 1rem;
  border-top: .4rem solid var(--brand); margin-bottom: 1rem; }
header img { max-height: 3.5rem; max-width: 12rem; }
.agency { margin-left: auto; color: var(--faint); text-align: right; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0; } h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; }
p { margin: .4rem 0; } .faint, .range, figcaption, .top, .ends, th { color: var(--faint); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; }
.figures > div { background: var(--panel); border-radius: .5rem; padding: .8rem 1rem; }
.figures b { display: block; font-size: 1.9rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
figure { margin: 1.25rem 0; } figcaption { display: flex; justify-content: space-between; flex-wrap: wrap; gap: .5rem; }
.legend { display: flex; gap: 1rem; } .key::before { content: ""; display: inline-block; width: .7em; height: .7em;
  margin-right: .4em; border-radius: .15em; background: var(--brand); } .key.second::before { background: var(--second); }
.bars { display: block; width: 100%; height: 9rem; border-bottom: 1px solid var(--line); }
.top, .ends { font-size: .8rem; margin: 0; } .ends { display: flex; justify-content: space-between; }
svg .first { fill: var(--brand); } svg .second { fill: var(--second); } svg .rail { fill: var(--line); }
svg .good { fill: var(--good); } svg .warn { fill: var(--warn); } svg .bad { fill: var(--bad); }
svg .unknown, svg .info { fill: var(--second); }
.meter { width: 6rem; height: .5rem; border-radius: .25rem; vertical-align: middle; }
.course { width: 7rem; height: 1.4rem; vertical-align: middle; } .course polyline { fill: none; stroke: var(--brand);
  stroke-width: 2; vector-effect: non-scaling-stroke; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .93rem; }
th, td { text-align: left; padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: break-word; }
th { font-weight: 500; } .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td:not(.number) { min-width: 6rem; overflow-wrap: anywhere; } td:first-child { min-width: 11rem; }
.tone-good { color: var(--good); } .tone-warn { color: var(--warn); } .tone-bad { color: var(--bad); }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--faint); font-size: .87rem; }
@media (max-width: 30rem) { body { padding: 0 1rem 2rem; } .agency { margin-left: 0; text-align: left; width: 100%; }
  h1 { font-size: 1.3rem; } .figures { grid-template-columns: 1fr 1fr; } .figures b { font-size: 1.5rem; } }
@media print { :root { --ground: LIGHT; --text: #000; --faint: #444; --line: #bbb; --panel: #fff; --brand: BRAND_LIGHT; }
  body { max-width: none; padding: 0; font-size: 10pt; } .figures { grid-template-columns: repeat(4, 1fr); }
  .figures > div { border: 1px solid var(--line); }
  h2 { break-after: avoid; } figure, tr, .figures > div { break-inside: avoid; } .scroll { overflow: visible; }
  * { print-color-adjust: exact; } @page { margin: 15mm; } }
"""


def style_sheet(color: str) -> str:
    """The sheet with the agency's color, lightened or darkened where it would not show against the ground."""
    chosen = color if COLOR.fullmatch(color) else DEFAULT_COLOR
    values = {
        "BRAND_LIGHT": legible(chosen, LIGHT), "BRAND_DARK": legible(chosen, DARK), "LIGHT": LIGHT, "DARK": DARK,
    }  # fmt: skip
    return re.sub("|".join(values), lambda found: values[found[0]], _SHEET)


def legible(color: str, ground: str) -> str:
    """The color, mixed with white or black until it stands out from the ground."""
    towards = 255.0 if _luminance(_parts(ground)) < 0.5 else 0.0
    parts = _parts(color)
    for step in range(21):
        mixed = [part + (towards - part) * step / 20 for part in parts]
        if contrast(mixed, _parts(ground)) >= LEAST_CONTRAST:
            return "#" + "".join(f"{round(part):02x}" for part in mixed)
    return color


def contrast(one: list[float], other: list[float]) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _parts(color: str) -> list[float]:
    return [float(int(color[at : at + 2], 16)) for at in (1, 3, 5)]


def _luminance(parts: list[float]) -> float:
    """Relative luminance (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance)."""
    shares = [part / 255 for part in parts]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
