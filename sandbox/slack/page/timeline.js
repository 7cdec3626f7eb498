// A scrolling list of messages that repaints only what changed and stays at its end while people read there.

import { day, el, fill } from "./dom.js";
import { follows, message } from "./message.js";

export class Timeline {
  constructor(app, { inThread = false, empty = null } = {}) {
    this.app = app;
    this.inThread = inThread;
    this.empty = empty;
    this.list = el("div", { class: "list", role: "log", "aria-live": "polite" });
    this.node = el("div", { class: "timeline", tabindex: "0", data: { testid: inThread ? "thread" : "timeline" } }, this.list);
    this.messages = new Map();
    this.nodes = new Map();
  }

  show(messages) {
    this.messages = new Map(messages.map((one) => [one.ts, one]));
    this.nodes.clear();
    this.redraw();
    this.toEnd();
  }

  get ordered() { return [...this.messages.values()].sort((a, b) => (a.ts < b.ts ? -1 : 1)); }

  redraw() {
    const all = this.ordered;
    const parts = [];
    all.forEach((one, index) => {
      const before = all[index - 1];
      const fresh = !before || day(before.posted_at) !== day(one.posted_at);
      if (fresh && !this.inThread) parts.push(el("div", { class: "day" }, el("span", {}, day(one.posted_at))));
      parts.push(this.nodeOf(one, !fresh && follows(one, before) && !(this.inThread && index === 1)));
      if (this.inThread && index === 0) parts.push(el("div", { class: "day left" }, el("span", {}, all.length > 1 ? `${all.length - 1} ${all.length === 2 ? "reply" : "replies"}` : "No replies yet")));
    });
    fill(this.list, parts.length ? parts : this.empty?.());
  }

  nodeOf(one, joined) {
    const known = this.nodes.get(one.ts);
    if (known && known.one === one && known.joined === joined) return known.node;
    const node = message(one, this.app, { joined, inThread: this.inThread });
    this.nodes.set(one.ts, { one, joined, node });
    return node;
  }

  // A new or a changed message.
  put(one) {
    const near = this.nearEnd();
    this.messages.set(one.ts, one);
    this.redraw();
    if (near) this.toEnd();
  }

  drop(ts) {
    this.messages.delete(ts);
    this.nodes.delete(ts);
    this.redraw();
  }

  repaint(ts) {
    this.nodes.delete(ts);
    if (this.messages.has(ts)) this.redraw();
  }

  nearEnd() { return this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < 120; }
  toEnd() { this.node.scrollTop = this.node.scrollHeight; }
}
