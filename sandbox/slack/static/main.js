// The page: what it knows, where it is, and what it does when something happens.

import { $, el, fill, icon, notice } from "./dom.js";
import { act, read, Stream } from "./net.js";
import { Composer } from "./composer.js";
import { Form } from "./elements.js";
import { Inspector } from "./inspector.js";
import { dismiss, isOpen } from "./popover.js";
import { sidebar } from "./sidebar.js";
import { Timeline } from "./timeline.js";
import { Home, Modal } from "./views.js";

class App {
  constructor() {
    this.place = { kind: "channel", id: "" };
    this.failures = new Map();
    this.forms = new Map();
    this.status = "connecting";
    this.panel = null;
    this.thread = null;
    this.stream = new Stream((event) => this.heard(event), (status) => this.turned(status));
    this.heardAt = new Map(); // the number of the last event of each kind
    this.modal = new Modal(this);
    this.inspector = new Inspector(this);
  }

  get names() {
    return {
      me: this.me,
      user: (id) => this.users.get(id),
      group: (id) => this.groups.get(id),
      channel: (id) => this.channels.find((channel) => channel.id === id),
      people: () => [...this.users.values()].filter((user) => !user.is_bot),
      everyone: () => [...this.users.values()].filter((user) => user.id !== "USLACKBOT"),
      channels: () => this.channels.filter((channel) => !channel.is_im && !channel.is_archived),
    };
  }

  formOf(ts) {
    if (!this.forms.has(ts)) this.forms.set(ts, new Form());
    return this.forms.get(ts);
  }

  // Something that can fail: says so instead of doing nothing.
  async guarded(work) {
    try { return await work(); } catch (error) {
      notice(error instanceof TypeError
        ? "The stand-in cannot be reached." : error.message);
      return null;
    }
  }

  async start() {
    const [user, place] = decodeURIComponent(location.hash.slice(1)).split("/");
    await this.load(user || "ann");
    const wanted = (place && this.channels.find((channel) => channel.name === place || channel.id === place))
      || this.channels[0];
    await this.go(place === "home" ? { kind: "home", id: this.apps[0]?.id } : {
      kind: "channel",
      id: wanted
        .id
    });
    // Tools that take a picture wait until the network is quiet, which a live page never is.
    if (location.search === "?still") this.still();
    else this.stream.open(this.me, this.number);
    document.addEventListener("keydown", (event) => this.key(event));
  }

  still() {
    $("app").classList.add("still");
    this.turned("live");
  }

  async load(user) {
    const found = await read("/page/state", { user });
    if (found.boot !== this.boot || found.me !== this.me) this.heardAt.clear();
    // The stream may have brought a newer view while this was on its way.
    const newest = (kind) => found.number >= (this.heardAt.get(kind) ?? 0);
    Object.assign(this, {
      me: found.me,
      team: found.team,
      number: found.number,
      channels: found.channels,
      commands: found.commands,
      shortcuts: found.shortcuts,
      apps: newest("home") ? found.apps : found.apps
        .map((one) => ({
          ...one,
          home: this.apps.find((known) => known.id === one.id)?.home ?? one
            .home
        })),
      sockets: found.sockets,
      boot: found.boot
    });
    this.users = new Map(found.users.map((one) => [one.id, one]));
    this.groups = new Map(found.groups.map((one) => [one.id, one]));
    if (newest("view")) this.modal.show(found.view);
  }

  async become(user) {
    this.modal.show(null, 0);
    this.forms.clear();
    this.failures.clear();
    await this.load(user);
    if (this.place.kind === "channel" && !this.names.channel(this.place.id)) this.place.id = this.channels[0]
      .id;
    await this.go(this.place);
    this.stream.open(this.me, this.number);
  }

  // After a gap, a reset or a restart: everything anew, the place kept.
  async again() {
    await this.guarded(() => this.load(this.users.has(this.me) ? this.me : "ann"));
    await this.go(this.place);
    if (this.panel === "traffic") await this.inspector.open();
  }

  turned(status) {
    this.status = status;
    $("app").dataset.state = status;
    if (status === "live" && this.wasLost) this.again();
    this.wasLost = status === "lost" || (this.wasLost && status !== "live");
    this.drawSidebar();
  }

  // Once a frame, however much happens in it.
  drawSidebar() {
    if (!this.users || this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = null;
      sidebar($("sidebar"), this);
    });
  }

  get home() { return this.apps.find((one) => one.id === this.place.id) ?? this.apps[0]; }

  botOf(channel) { return this.apps.find((one) => channel.members.includes(one.bot_user))?.name ?? "the app"; }

  get channel() { return this.place.kind === "channel" ? this.names.channel(this.place.id) : null; }

  async go(place) {
    dismiss();
    if (place.kind !== this.place.kind || place.id !== this.place.id) this.closeThread();
    this.place = place;
    $("app").classList.remove("drawer");
    history.replaceState(null, "",
      `#${this.users.get(this.me).name}/${place.kind === "home" ? "home" : this.channel.name}`);
    const name = place.kind === "home" ? this.home.name : this.channel.is_im ? this.botOf(this.channel)
      : `#${this.channel.name}`;
    document.title = `${name} · ${this.team.name}`;
    if (place.kind === "home") this.drawHome();
    else await this.drawChannel();
    this.drawSidebar();
  }

  header(title, about, ...tools) {
    return el("header", { class: "top" },
      el("button", {
        class: "tool drawer-button",
        "aria-label": "Channels",
        onclick: () => $("app")
          .classList.toggle("drawer")
      }, icon("menu")),
      el("div", { class: "what" }, title, el("small", { class: "about" }, about)), tools,
      el("button", {
          class: "tool named",
          "aria-pressed": String(this.panel === "traffic"),
          data: { testid: "inspector-toggle" },
          onclick: () => this.toggleTraffic()
        }, icon("pulse"),
        "Traffic"));
  }

  drawHome() {
    this.timeline = null;
    const home = new Home(this);
    this.homeView = home;
    fill($("main"), this.header(el("h1", {}, icon("bolt"), this.home.name), "The app's Home tab"), this
      .banner(), home.node);
    home.open();
  }

  banner() {
    return el("div", { class: "lost-banner", role: "status" }, icon("warn"),
      "The stand-in cannot be reached; trying again. What you see is the last that was known.");
  }

  async drawChannel() {
    const channel = this.channel;
    this.homeView = null;
    const timeline = this.timeline = new Timeline(this, {
      empty: () => el("div", { class: "empty" }, icon(
        channel.is_private ? "lock" : "hash"), el("h3", {}, channel.is_im
        ? `A conversation with ${this.botOf(channel)}` : `This is #${channel.name}`), el("p", {},
        channel.is_member === false ? "You are not a member."
        : "Nothing was said here yet. Type / to talk to the bot."))
    });
    const title = channel.is_im ? el("h1", {}, icon("bolt"), this.botOf(channel)) : el("h1", {}, icon(channel
      .is_archived ? "box" : channel.is_private ? "lock" : "hash"), channel.name);
    const count = channel.is_im ? null : el("span", {
      class: "members",
      title: channel.members.map((id) =>
        this.users.get(id)?.real_name).join(", ")
    }, `${channel.members.length} members`);
    const footer = this.footer(channel);
    fill($("main"), this.header(title, channel.topic?.value || (channel.is_im ? "Direct messages with the app"
      : ""), count), this.banner(), timeline.node, footer.node);
    const found = await this.guarded(() => read("/control/messages", {
      channel: channel.id,
      user: this.me,
      limit: 300
    }));
    if (this.timeline !== timeline) return;
    timeline.show((found?.messages || []).filter((one) => one.in_channel));
    footer.focus?.();
    this.seen();
  }

  footer(channel) {
    const closed = (text, ...more) => ({ node: el("div", { class: "closed" }, el("span", {}, text), more) });
    if (channel.is_archived) return closed("This channel is archived; nothing can be said here.");
    if (channel.is_member === false) return closed(
      "You are looking in from outside; only members can write here.");
    this.composer = new Composer(this, {
      place: () => channel.id,
      sent: () => this.timeline.follows(),
      hint: channel.is_im ? `Message ${this.botOf(channel)}` : `Message #${channel.name}`
    });
    if (channel.is_im) return this.composer;
    const absent = this.apps.filter((one) => !channel.members.includes(one.bot_user));
    if (absent.length < this.apps.length || !absent.length) return this.composer;
    const [bot] = absent;
    const invite = el("button", {
      class: "button",
      onclick: () => this.guarded(() => act(
        "members", { channel: channel.id, invite: bot.bot_user }))
    }, "Invite it");
    return {
      node: el("div", {}, el("div", { class: "hint-bar" }, el("span", {}, bot.posts_anywhere && !
            channel.is_private
            ? `${bot.name} is not in this channel: it may post here (chat:write.public), and reads nothing.`
            : `${bot.name} is not in this channel: its posts here are refused with not_in_channel.`),
          invite),
        this.composer.node),
      focus: () => this.composer.focus()
    };
  }

  // What is in front of someone is read; told once for a burst.
  seen() {
    const channel = this.channel;
    if (!channel || channel.is_member === false || document.hidden) return;
    channel.unread = 0;
    clearTimeout(this.reading);
    this.reading = setTimeout(() => this.guarded(() => act("read", { user: this.me, channel: channel.id })),
      250);
  }

  showPanel(name, node) {
    this.panel = name;
    fill($("panel"), node);
    $("panel").hidden = false;
    $("app").classList.add("with-panel");
    document.querySelector("[data-testid=inspector-toggle]")?.setAttribute("aria-pressed", String(name
      === "traffic"));
  }

  closePanel() {
    this.panel = this.thread = null;
    this.threadTimeline = null;
    $("panel").hidden = true;
    $("app").classList.remove("with-panel");
    document.querySelector("[data-testid=inspector-toggle]")?.setAttribute("aria-pressed", "false");
  }

  closeThread() { if (this.panel === "thread") this.closePanel(); }

  async toggleTraffic() {
    if (this.panel === "traffic") return this.closePanel();
    this.thread = null;
    this.showPanel("traffic", this.inspector.node);
    await this.guarded(() => this.inspector.open());
  }

  async openThread(ts) {
    this.thread = ts;
    const channel = this.channel;
    const timeline = this.threadTimeline = new Timeline(this, { inThread: true });
    const composer = new Composer(this, {
      place: () => channel.id,
      thread: () => ts,
      sent: () => timeline
        .follows(),
      hint: "Reply…"
    });
    this.showPanel("thread", el("div", { class: "panel-in", data: { testid: "thread-panel" } },
      el("header", {}, el("h2", {}, "Thread", el("small", {}, channel.is_im ? this.botOf(channel)
        : `#${channel.name}`)), el("button", {
        class: "tool",
        "aria-label": "Close",
        onclick: () => this
          .closePanel()
      }, icon("close"))),
      timeline.node, channel.is_archived || channel.is_member === false ? null : composer.node));
    const found = await this.guarded(() => read("/control/messages", {
      channel: channel.id,
      user: this.me,
      thread_ts: ts
    }));
    if (this.threadTimeline !== timeline || !found) return;
    timeline.show(found.messages);
    composer.focus();
  }

  heard({ kind, data, number }) {
    this.heardAt.set(kind, number);
    const handler = this[`on_${kind}`];
    if (handler) handler.call(this, data);
  }

  on_message(one) {
    const here = this.channel?.id === one.channel;
    if (here && one.in_channel) this.timeline.put(one);
    if (here && this.thread && (one.ts === this.thread || one.thread_ts === this.thread)) this.threadTimeline
      .put(one);
    if (here && !document.hidden) this.seen();
    const channel = this.names.channel(one.channel);
    if (channel && one.in_channel && !one.ephemeral && one.user !== this.me && (!here || document
        .hidden)) {
      channel.unread += 1;
      this.drawSidebar();
    }
  }

  on_message_changed(one) {
    if (this.channel?.id !== one.channel) return;
    if (one.in_channel) this.timeline.put(one);
    if (this.thread && (one.ts === this.thread || one.thread_ts === this.thread)) this.threadTimeline.put(
      one);
  }

  on_message_deleted({ channel, ts }) {
    if (this.channel?.id !== channel) return;
    this.timeline.drop(ts);
    this.threadTimeline?.drop(ts);
  }

  on_failure({ ts, error, view }) {
    if (view) return notice(`The app did not answer (${error}).`);
    this.failures.set(ts, error);
    this.repaint(ts);
  }

  repaint(ts) {
    this.timeline?.repaint(ts);
    this.threadTimeline?.repaint(ts);
  }

  on_view({ view }) { this.modal.show(view); }

  on_home(view) {
    const of = this.apps.find((one) => one.id === view.app_id);
    if (of) of.home = view;
    if (of === this.home) this.homeView?.show(view);
  }

  on_traffic(exchange) { if (this.panel === "traffic") this.inspector.heard(exchange); }

  on_sockets({ open }) {
    this.sockets = open;
    this.drawSidebar();
  }

  on_channels() { this.reload(); }
  on_settings() { this.reload(); }
  on_gap() { this.again(); }

  on_reset() {
    this.closePanel();
    this.again();
  }

  async reload() {
    const before = JSON.stringify(this.channel);
    await this.guarded(() => this.load(this.me));
    if (this.place.kind === "channel" && !this.channel) return this.go({
      kind: "channel",
      id: this.channels[0]
        .id
    });
    if (before !== JSON.stringify(this.channel)) await this.go(this.place);
    this.drawSidebar();
  }

  key(event) {
    const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName);
    if (event.key === "Escape" && !isOpen() && !document.querySelector("dialog[open]") && this.panel) this
      .closePanel();
    else if (event.key === "/" && !typing && !document.querySelector("dialog[open]") && this.composer) {
      event
        .preventDefault();
      this.composer.focus();
      this.composer.input.setRangeText("/", 0, 0, "end");
      this.composer.typed();
    } else if (event.altKey && (event.key === "ArrowUp" || event.key
        === "ArrowDown")) {
      event.preventDefault();
      this.step(event.key === "ArrowUp" ? -1 : 1);
    }
  }

  step(by) {
    const at = this.channels.findIndex((channel) => channel.id === this.place.id);
    const next = this.channels[(at + by + this.channels.length) % this.channels.length];
    this.go({ kind: "channel", id: next.id });
  }
}

const app = new App();
app.start().catch((error) => fill($("main"), el("div", { class: "empty" }, icon("warn"), el("h3", {},
  "The page could not start"), el("p", {}, String(error.message)), el("button", {
  class: "button",
  onclick: () => location.reload()
}, "Try again"))));
