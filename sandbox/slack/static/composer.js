// Where people type: commands and mentions are offered, and nothing is lost when sending fails. Slack completes the
// name of a command and shows its usage hint; the words after it are the person's own.

import { el, fill, icon } from "./dom.js";
import { act } from "./net.js";
import { listbox } from "./popover.js";

const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

export class Composer {
  constructor(app, { place, thread = () => null, hint, sent = () => {} }) {
    Object.assign(this, { app, place, thread, sent });
    this.active = 0;
    this.offers = [];
    this.menu = el("div", {
      class: "offers",
      role: "listbox",
      data: { testid: "autocomplete" },
      hidden: true
    });
    this.input = el("textarea", {
      rows: 1,
      placeholder: hint,
      "aria-label": hint,
      data: {
        testid: thread()
          === null ? "composer" : "thread-composer"
      },
      oninput: () => this.typed(),
      onkeydown: (event) => this
        .key(event),
      onblur: () => setTimeout(() => this.offer([]), 150)
    });
    this.button = el("button", {
      class: "send",
      type: "submit",
      "aria-label": "Send",
      data: { testid: "send" },
      disabled: true
    }, icon("send"));
    const shortcuts = app.shortcuts.filter((one) => one.type === "global").map((one) => ({
      label: one.name,
      note: one.description,
      value: one.callback_id
    }));
    const bolt = shortcuts.length && thread() === null ? el("button", {
      class: "tool",
      type: "button",
      "aria-label": "Shortcuts",
      title: "Shortcuts",
      data: { testid: "shortcuts" },
      onclick: () => listbox(bolt, shortcuts, (item) => app.guarded(() => act("shortcut", {
        user: app.me,
        callback_id: item.value
      })))
    }, icon("bolt")) : null;
    this.note = el("div", { class: "note", role: "status" });
    this.node = el("form", {
        class: "composer",
        onsubmit: (event) => {
          event.preventDefault();
          this.send();
        }
      }, this.menu, el("div", { class: "well" }, bolt, this.input, this.button), this
      .note);
    this.say();
  }

  focus() { this.input.focus(); }

  say(text = "", kind = "") {
    this.note.className = `note ${kind}`;
    fill(this.note, text || (this.thread() !== null ? "" : el("span", {}, el("kbd", {}, "Enter"), " sends, ",
      el("kbd", {}, "Shift Enter"), " starts a line, ", el("kbd", {}, "/"), " begins a command")));
  }

  typed() {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, 180)}px`;
    this.button.disabled = !this.input.value.trim();
    if (this.note.classList.contains("failed")) this.say();
    this.offer(this.suggestions());
  }

  suggestions() {
    const before = this.input.value.slice(0, this.input.selectionStart);
    const command = /^\/\S*$/.exec(before);
    if (command && this.thread() === null) return this.app.commands.filter((one) => one.command.startsWith(
      before)).map((one) => ({
      label: one.command,
      hint: one.usage_hint,
      note: one.description,
      insert: `${one.command} `,
      from: 0
    }));
    const mention = /(^|\s)@(\w*)$/.exec(before);
    if (mention) return this.app.names.everyone().filter((user) => `${user.name} ${user.real_name}`
      .toLowerCase().includes(mention[2].toLowerCase())).slice(0, 6).map((user) => ({
      label: user
        .real_name,
      hint: `@${user.name}`,
      insert: `@${user.name} `,
      from: before.length - mention[2]
        .length - 1
    }));
    return [];
  }

  offer(offers) {
    this.offers = offers;
    this.active = 0;
    this.menu.hidden = !offers.length;
    this.drawOffers();
  }

  drawOffers() {
    fill(this.menu, this.offers.map((one, index) => el(
      "div", {
        class: `row${index === this.active ? " active" : ""}`,
        role: "option",
        "aria-selected": String(index === this.active),
        data: { testid: "suggestion" },
        onmousedown: (event) => {
          event.preventDefault();
          this.take(one);
        }
      },
      el("strong", {}, one.label), one.hint ? el("span", { class: "usage" }, one.hint) : null, one.note
      ? el("small", {}, one.note) : null)));
  }

  take(one) {
    const after = this.input.value.slice(this.input.selectionStart);
    const start = this.input.value.slice(0, one.from) + one.insert;
    this.input.value = start + after;
    this.input.setSelectionRange(start.length, start.length);
    this.input.focus();
    this.typed();
  }

  key(event) {
    const offered = this.offers.length > 0;
    if (offered && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.active = (this.active + (event.key === "ArrowDown" ? 1 : -1) + this.offers.length) % this.offers
        .length;
      this.drawOffers();
    } else if (offered && event.key === "Tab") {
      event.preventDefault();
      this.take(this.offers[this.active]);
    } else if (offered && event.key === "Escape") {
      event
        .preventDefault();
      event.stopPropagation();
      this.offer([]);
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      // Enter takes the name of a command that is not finished; a finished line is sent as it stands.
      if (offered && /^\/\S*$/.test(this.input.value) && !this.app.commands.some((one) => one.command === this
          .input.value)) this.take(this.offers[this.active]);
      else this.send();
    }
  }

  async send() {
    const text = this.input.value.trim();
    if (!text || this.sending) return;
    this.offer([]);
    this.sending = true;
    this.node.classList.add("sending");
    const where = { user: this.app.me, channel: this.place() };
    this.input.value = "";
    this.typed();
    this.sent();
    try {
      if (text.startsWith("/") && this.thread() !== null) throw new Error("commands do not work in threads");
      if (text.startsWith("/")) await act("command", { ...where, text });
      else await act("message", { ...where, text: this.encoded(text), thread_ts: this.thread() });
      this.say();
    } catch (error) {
      if (!this.input.value) this.input.value = text;
      this.typed();
      const cause = error instanceof TypeError ? "the stand-in cannot be reached" : error.message;
      this.say(`Not sent: ${cause}. Your text is still here.`, "failed");
    } finally {
      this.sending = false;
      this.node.classList.remove("sending");
    }
  }

  encoded(text) {
    const names = this.app.names;
    return escaped(text)
      .replace(/(^|\s)@([\w-]+)/g, (whole, space, name) => {
        const user = names.everyone().find((one) => one
          .name === name);
        return user ? `${space}<@${user.id}>` : whole;
      })
      .replace(/(^|\s)#([\w-]+)/g, (whole, space, name) => {
        const channel = names.channels().find((one) =>
          one.name === name);
        return channel ? `${space}<#${channel.id}|${name}>` : whole;
      });
  }
}
