// Modals and the Home tab.

import { el, fill, icon } from "./dom.js";
import { act } from "./net.js";
import { blocks } from "./blocks.js";
import { Form } from "./elements.js";
import { text } from "./mrkdwn.js";
import { dismiss, isOpen } from "./popover.js";

function context(app, form, where, errors) {
  return {
    names: app.names,
    form,
    errors,
    fire: (block, element, value) => app.guarded(() => act("click", {
      user: app.me,
      ...where,
      block_id: block
        .block_id,
      action_id: element.action_id,
      values: form.values,
      ...(value === undefined ? {}
        : { value })
    })),
    options: async (block, element, value) => (await act("options", {
      user: app.me,
      ...where,
      block_id: block
        .block_id,
      action_id: element.action_id,
      value
    })).options,
  };
}

export class Modal {
  constructor(app) {
    this.app = app;
    this.forms = new Map();
    this.dialog = null;
    this.view = null;
  }

  show(view) {
    const changed = view?.id !== this.view?.id;
    if (changed || view?.hash !== this.view?.hash) this.errors = {};
    this.view = view;
    if (!view) return this.gone();
    if (!this.forms.has(view.id)) this.forms.set(view.id, new Form());
    this.draw(changed);
  }

  gone() {
    dismiss();
    this.forms.clear();
    this.dialog?.close();
    this.dialog?.remove();
    this.dialog = null;
  }

  draw(changed) {
    const { view, app } = this;
    const form = this.forms.get(view.id);
    const held = this.dialog?.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    if (!this.dialog) {
      this.dialog = el("dialog", {
        class: "dialog modal",
        data: { testid: "modal" },
        oncancel: (
          event) => { event.preventDefault(); if (!isOpen()) this.close(); }
      });
      document.body.append(this.dialog);
    }
    const ctx = context(app, form, { view: true }, this.errors);
    const trouble = this.errors?.[""];
    fill(this.dialog,
      el("form", {
          onsubmit: (event) => {
            event.preventDefault();
            this.submit();
          }
        },
        el("header", {}, el("span", { class: "avatar bot small" }, icon("bolt")), el(
            "h2", { data: { testid: "modal-title" } }, text(view.title, app.names)),
          el("button", {
            class: "tool",
            type: "button",
            "aria-label": "Close",
            data: { testid: "modal-close" },
            onclick: () => this.close()
          }, icon(
            "close"))),
        el("div", { class: "scroll-body" }, trouble ? el("div", {
          class: "failure",
          role: "alert",
          data: { testid: "modal-error" }
        }, icon("warn"), trouble) : null, blocks(view.blocks, ctx)),
        el("footer", {}, el("button", {
            class: "button",
            type: "button",
            data: { testid: "modal-cancel" },
            onclick: () =>
              this.close()
          }, view.close ? text(view.close, app.names) : "Cancel"),
          view.submit ? el("button", {
            class: "button primary",
            type: "submit",
            data: { testid: "modal-submit" }
          }, text(view.submit, app.names)) : null)));
    if (!this.dialog.open) this.dialog.showModal();
    const again = held && [...this.dialog.querySelectorAll("[data-action]")].find((node) => node.dataset
      .action === held);
    const first = this.dialog.querySelector(".wrong .field, .wrong .select") || again || (changed ? this
      .dialog.querySelector(
        "[autofocus], .scroll-body input, .scroll-body textarea, .scroll-body select, .scroll-body button")
      : null);
    first?.focus();
  }

  async submit() {
    const form = this.forms.get(this.view.id);
    this.dialog.classList.add("busy");
    const done = await this.app.guarded(() => act("view/submit", {
      user: this.app.me,
      values: form.values,
      offered: [...form.offered.values()]
    }));
    this.dialog?.classList.remove("busy");
    if (done && Object.keys(done.errors).length) {
      this.errors = done.errors;
      if (this.view) this.draw(false);
    }
  }

  close() {
    return this.app.guarded(() => act("view/close", { user: this.app.me }));
  }
}

export class Home {
  constructor(app) {
    this.app = app;
    this.form = new Form();
    this.body = el("div", { class: "home-body", data: { testid: "home" } });
    this.node = el("div", { class: "timeline home" }, this.body);
    this.waiting = false;
  }

  async open() {
    this.waiting = true;
    this.show(this.app.home.home);
    await this.app.guarded(() => act("home/open", { user: this.app.me, wait: 3 }));
    this.waiting = false;
    this.show(this.app.home.home);
  }

  show(view) {
    const nothing = el("div", { class: "empty" }, icon("home"), el("h3", {}, this.waiting ? "Asking the app…"
        : "Nothing here yet"),
      el("p", {}, this.waiting ? "app_home_opened was sent."
        : "The app was told that its Home was opened, and has not published a view."));
    fill(this.body, view ? blocks(view.blocks, context(this.app, this.form, { home: true })) : nothing);
  }
}
