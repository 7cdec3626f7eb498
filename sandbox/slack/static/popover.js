// One small layer at a time: menus, listboxes, confirmation.

import { el, fill, icon } from "./dom.js";
import { text } from "./mrkdwn.js";

let open = null;

export function dismiss() {
  open?.close();
}

export const isOpen = () => open !== null;

// Shows `content` beside `anchor`; it goes with Escape, a click elsewhere, or scrolling away.
export function popover(anchor, content, { wide = false, above = false, onclose = null } = {}) {
  dismiss();
  const box = el("div", { class: `popover${wide ? " wide" : ""}`, data: { testid: "popover" } }, content);
  (anchor.closest("dialog") || document.body).append(box);
  place(box, anchor, above);
  const away = (event) => !box.contains(event.target) && !anchor.contains(event.target) && close();
  const key = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
    anchor.focus();
  };

  function close() {
    if (open !== layer) return;
    open = null;
    box.remove();
    document.removeEventListener("mousedown", away, true);
    document.removeEventListener("keydown", key, true);
    onclose?.();
  }
  const layer = { close, box };
  open = layer;
  document.addEventListener("mousedown", away, true);
  document.addEventListener("keydown", key, true);
  return layer;
}

function place(box, anchor, above) {
  const at = anchor.getBoundingClientRect();
  const size = box.getBoundingClientRect();
  const up = above || (at.bottom + size.height + 8 > innerHeight && at.top > size.height + 8);
  box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
  box.style.top = up ? `${Math.max(8, at.top - size.height - 6)}px`
    : `${Math.min(at.bottom + 6, innerHeight - size.height - 8)}px`;
}

// A list to choose from: items {label, note, value, mark, danger}; `load` makes it search elsewhere.
export function listbox(anchor, items, choose, {
  filter = false,
  load = null,
  title = "",
  wide = false
} = {}) {
  let shown = items,
    active = 0;
  const rows = el("div", { class: "rows", role: "listbox" });
  const search = filter || load ? el("input", {
    class: "search",
    placeholder: "Search",
    "aria-label": "Search",
    data: { testid: "option-search" }
  }) : null;
  const draw = () => {
    fill(rows, shown.length ? shown.map((item, index) => row(item, index)) : el("p", { class: "none" }, load
      && !search.value ? "Type to search" : "Nothing found"));
  };
  const row = (item, index) =>
    item.group ? el("div", { class: "group" }, item.group)
    : el("div", {
        class: `row${index === active ? " active" : ""}${item.danger ? " danger" : ""}`,
        role: "option",
        "aria-selected": String(Boolean(item.mark)),
        data: { testid: "option", value: item.value ?? "" },
        onmousemove: () => index !== active && move(index),
        onclick: () => pick(item)
      },
      el("span", { class: "mark" }, item.mark ? icon("check") : null),
      el("span", { class: "what" }, el("span", {}, item.label), item.note ? el("small", {}, item.note) : null));
  const move = (index) => {
    active = index;
    [...rows.children].forEach((node, at) => node.classList.toggle("active", at === active));
    rows.children[active]?.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    let next = active;
    do next = (next + by + shown.length) % shown.length; while (shown[next]?.group && next !== active);
    move(next);
  };
  const pick = (item) => {
    if (!item || item.group) return;
    layer.close();
    choose(item);
    anchor.focus();
  };
  const settle = () => {
    active = Math.max(0, shown.findIndex((item) => !item.group));
    draw();
  };
  const seek = async () => {
    const word = search.value.toLowerCase();
    shown = load ? await load(search.value) : items.filter((item) => item.group || `${item.label}`
      .toLowerCase().includes(word));
    settle();
  };
  let timer;
  search?.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(seek, load ? 200 : 0);
  });
  const body = el("div", {
    class: "menu",
    tabindex: "-1",
    onkeydown: (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (shown
          .length) step(event.key === "ArrowDown" ? 1 : -1);
      } else if (event.key === "Enter") {
        event
          .preventDefault();
        event.stopPropagation();
        pick(shown[active]);
      } else if (event.key === "Tab") layer.close();
    }
  }, title ? el("div", { class: "title" }, title) : null, search, rows);
  settle();
  const layer = popover(anchor, body, { wide });
  (search || body).focus();
  if (load) seek();
  return layer;
}

// Slack's confirm object, as a dialog; answers true or false.
export function confirmed(confirm, names) {
  if (!confirm) return Promise.resolve(true);
  return new Promise((resolve) => {
    let answer = false;
    const yes = el("button", {
      class: `button ${confirm.style === "danger" ? "danger" : "primary"}`,
      data: { testid: "confirm-yes" },
      onclick: () => {
        answer = true;
        dialog.close();
      }
    }, text(confirm.confirm, names));
    const no = el("button", {
      class: "button",
      data: { testid: "confirm-no" },
      onclick: () => dialog
        .close()
    }, text(confirm.deny, names));
    const dialog = el("dialog", {
        class: "dialog small",
        data: { testid: "confirm" },
        "aria-label": confirm
          .title?.text,
        onclose: () => {
          dialog.remove();
          resolve(answer);
        }
      },
      el("h2", {}, text(confirm.title, names)), el("div", { class: "says" }, text(confirm.text, names)),
      el("footer", {}, no, yes));
    document.body.append(dialog);
    dialog.showModal();
    yes.focus();
  });
}
