// The traffic between this Slack and the bot, newest first, with what it took and what came of it.

import { arrange, clock, el, fill, icon } from "./dom.js";
import { read } from "./net.js";

const KEPT = 300;
const WAYS = {
  to_bot: ["→ bot", "out"],
  web_api: ["bot →", "in"],
  response_url: ["bot →", "in"],
  tools: [
    "→ bot", "out"
  ]
};

export class Inspector {
  constructor(app) {
    this.app = app;
    this.exchanges = [];
    this.only = "all";
    this.opened = new Set();
    this.nodes = new Map();
    this.figures = el("div", { class: "figures" });
    this.rows = el("div", { class: "exchanges", data: { testid: "exchanges" } });
    this.filters = el("div", { class: "filters", role: "group", "aria-label": "Filter" });
    this.node = el("div", { class: "panel-in" },
      el("header", {}, el("h2", {}, "Traffic"), el("button", {
        class: "tool",
        "aria-label": "Close",
        onclick: () => app.closePanel()
      }, icon("close"))),
      this.figures, this.filters, this.rows);
  }

  async open() {
    this.exchanges = (await read("/control/traffic")).exchanges.reverse().slice(0, KEPT);
    this.draw();
    await this.count();
  }

  heard(exchange) {
    this.exchanges = [exchange, ...this.exchanges].slice(0, KEPT);
    this.drawing ??= requestAnimationFrame(() => {
      this.drawing = null;
      this.draw();
    });
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.count();
    }, 300);
  }

  async count() {
    const found = await read("/control/summary");
    const figure = (name, value, tone = "") => el("div", { class: `figure ${tone}` }, el("strong", {}, value),
      el("small", {}, name));
    const missed = Object.values(found.unacknowledged).reduce((sum, one) => sum + one, 0);
    fill(this.figures, figure("unanswered", String(missed), missed ? "bad" : ""), figure("429", String(found
        .rate_limited),
      found.rate_limited ? "warn" : ""));
  }

  draw() {
    const choice = (name, title) => el("button", {
      class: this.only === name ? "on"
        : "",
      "aria-pressed": String(this.only === name),
      onclick: () => {
        this.only = name;
        this.draw();
      }
    }, title);
    fill(this.filters, choice("all", "All"), choice("to_bot", "To the bot"), choice("web_api", "Web API"),
      choice("failed", "Refused"));
    const shown = this.exchanges.filter((one) => this.only === "all" || (this.only === "failed" ? !one.ok
      : one.direction === this.only || (this.only === "to_bot" && one.direction === "tools") || (this.only
        === "web_api" && one.direction === "response_url")));
    const kept = new Map(shown.map((one) => [one, this.nodes.get(one) ?? this.row(one)]));
    this.nodes = kept;
    arrange(this.rows, shown.length ? [...kept.values()] : [el("p", { class: "none" },
      "Nothing yet. Type a command, and it shows here with the time the bot took.")]);
  }

  row(one) {
    const [way, side] = WAYS[one.direction];
    const result = one.ok ? (one.status && one.status !== 200 ? String(one.status) : "ok") : one.error
      || String(one.status);
    const body = el("div", { class: "detail" });
    const facts = [clock(one.at, true), one.via === "socket" ? "Socket Mode" : "HTTP", one.status];
    const reveal = () => fill(body, el("small", {}, facts.filter(Boolean).join(" · ")),
      el("h4", {}, "Request"), json(one.request), el("h4", {}, "Answer"), json(one.answer));
    const details = el("details", {
        open: this.opened.has(one.number),
        data: { testid: "exchange" },
        ontoggle: () => {
          if (details.open) {
            this.opened.add(one.number);
            reveal();
          } else this.opened.delete(one.number);
        }
      },
      el("summary", {}, el("span", { class: `way ${side}` }, way), el("span", { class: "name" }, one.name),
        one.attempt ? el("span", { class: "retry" }, `retry ${one.attempt}`) : null,
        el("span", { class: `result ${one.ok ? "good" : "bad"}` }, result), el("span", { class: "ms" },
          `${one.ms < 10 ? one.ms.toFixed(1) : Math.round(one.ms)} ms`)), body);
    return details;
  }
}

const json = (value) => el("pre", {}, typeof value === "string" ? value || "(empty)" : JSON.stringify(value,
  null, 2) ?? "(empty)");
