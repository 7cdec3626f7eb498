// A scrolling list of messages that repaints only what changed and stays at its end while people read there.

import { arrange, day, el } from "./dom.js";
import { follows, message } from "./message.js";

const MOST = 300;

export class Timeline {
  constructor(app, { inThread = false, empty = null } = {}) {
    this.app = app;
    this.inThread = inThread;
    this.empty = empty;
    this.list = el("div", { class: "list", role: "log", "aria-live": "polite" });
    this.node = el("div", {
      class: "timeline",
      tabindex: "0",
      data: {
        testid: inThread ? "thread"
          : "timeline"
      }
    }, this.list);
    this.messages = new Map();
    this.nodes = new Map();
    this.marks = new Map();
    this.drawing = null;
    this.gone = new Set();
  }

  // What was read, beneath what was heard while it was being read.
  show(messages) {
    const read = messages.slice(-MOST).filter((one) => !this.gone.has(one.ts)).map((one) => [one.ts, one]);
    this.messages = new Map([...read, ...this.messages]);
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
      if (fresh && !this.inThread) parts.push(this.mark(day(one.posted_at), "day"));
      parts.push(this.nodeOf(one, !fresh && follows(one, before) && !(this.inThread && index === 1)));
      if (this.inThread && index === 0) parts.push(this.mark(all.length > 1
        ? `${all.length - 1} ${all.length === 2 ? "reply" : "replies"}` : "No replies yet", "day left"
      ));
    });
    arrange(this.list, parts.length ? parts : [this.empty?.()].filter(Boolean));
  }

  // A burst is drawn once a frame, not once a message.
  soon() {
    if (this.drawing) return;
    const near = this.nearEnd();
    this.drawing = requestAnimationFrame(() => {
      this.drawing = null;
      this.redraw();
      if (near || this.follow) this.toEnd();
      this.follow = false;
    });
  }

  mark(text, kind) {
    if (!this.marks.has(text)) this.marks.set(text, el("div", { class: kind }, el("span", {}, text)));
    return this.marks.get(text);
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
    this.messages.set(one.ts, one);
    while (this.messages.size > MOST) this.forget(this.messages.keys().next().value);
    this.soon();
  }

  forget(ts) {
    this.messages.delete(ts);
    this.nodes.delete(ts);
  }

  drop(ts) {
    this.gone.add(ts);
    this.forget(ts);
    this.soon();
  }

  repaint(ts) {
    this.nodes.delete(ts);
    if (this.messages.has(ts)) this.soon();
  }

  // What one sends oneself, and the next answer, are brought into view, wherever one was reading.
  follows() {
    this.follow = true;
    this.toEnd();
  }

  nearEnd() { return this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < 120; }
  toEnd() { this.node.scrollTop = this.node.scrollHeight; }
}
