// Everything a person can act on.
// `ctx` = {names, form, live, fire(block, element, value), options(block, element, query), busy}.

import { el, fill, icon } from "./dom.js";
import { text } from "./mrkdwn.js";
import { confirmed, listbox } from "./popover.js";

// What was typed or chosen, by block and action; it outlives a repaint of the same blocks.
export class Form {
  constructor() {
    this.values = {};
    this.offered = new Map();
  }
  get(block, element) { return this.values[block.block_id]?.[element.action_id]; }
  set(block, element, value) {
    (this.values[block.block_id] ??= {})[element.action_id] = value;
  }
}

const label = (object) => object?.text ?? "";

async function fire(ctx, block, element, value, node) {
  if (!(await confirmed(element.confirm, ctx.names))) return;
  node?.classList.add("busy");
  try { await ctx.fire(block, element, value); } finally { node?.classList.remove("busy"); }
}

// In an input block a choice is only sent along, unless the block asks to hear of it.
const heard = (block) => block.type !== "input" || block.dispatch_action;

function chosen(ctx, block, element, value, node) {
  ctx.form.set(block, element, value);
  if (heard(block)) fire(ctx, block, element, value, node);
}

export function element(ctx, block, one) {
  const build = BUILDERS[one.type];
  return build ? build(ctx, block, one) : el("span", { class: "unknown" }, `[${one.type}]`);
}

function button(ctx, block, one) {
  const style = one.style === "primary" || one.style === "danger" ? one.style : "";
  const props = {
    class: `button ${style}`,
    title: one.accessibility_label || null,
    data: {
      testid: "button",
      text: label(one.text),
      action: one.action_id
    }
  };
  if (one.url && /^https?:/i.test(one.url)) {
    return el("a", {
      ...props,
      href: one.url,
      target: "_blank",
      rel: "noopener noreferrer",
      onclick: () => ctx
        .fire(block, one)
    }, text(one.text, ctx.names));
  }
  const node = el("button", {
    ...props,
    type: "button",
    disabled: ctx.dead,
    onclick: () => fire(ctx, block, one,
      undefined, node)
  }, text(one.text, ctx.names));
  return node;
}

function overflow(ctx, block, one) {
  const items = one.options.map((option) => ({
    label: label(option.text),
    note: label(option.description),
    value: option.value,
    url: option.url
  }));
  const node = el("button", {
    type: "button",
    class: "button square",
    "aria-label": "More actions",
    "aria-haspopup": "listbox",
    data: { testid: "overflow", action: one.action_id },
    onclick: () =>
      listbox(node, items, (item) => {
        if (item.url && /^https?:/i.test(item.url)) window.open(item.url, "_blank",
          "noopener,noreferrer");
        fire(ctx, block, one, item.value, node);
      })
  }, icon("more"));
  return node;
}

const optionItems = (one) => one.option_groups
  ? one.option_groups.flatMap((group) => [{ group: label(group.label) }, ...group.options.map(optionItem)])
  : (one.options || []).map(optionItem);
const optionItem = (option) => ({
  label: label(option.text),
  note: label(option.description),
  value: option
    .value,
  raw: option
});

// Every menu is the same: where its items come from and what they stand for differ.
function select(ctx, block, one) {
  const kind = one.type;
  const first = {
    static_select: one.initial_option,
    external_select: one.initial_option,
    users_select: one.initial_user,
    conversations_select: one.initial_conversation
  } [kind] ?? null;
  const plain = (value) => (value && typeof value === "object" ? value.value : value);
  const offered = ctx.form.offered;
  if (first && typeof first === "object") offered.set(first.value, first);
  // The form keeps what is submitted: of an external select that is the whole option.
  const kept = ctx.form.get(block, one) ?? first;
  let current = plain(kept);
  const items = () => kind === "users_select" ? ctx.names.people().map((user) => ({
      label: user.real_name,
      note: `@${user.name}`,
      value: user.id
    }))
    : kind === "conversations_select" ? ctx.names.channels().map((channel) =>
      ({ label: `#${channel.name}`, value: channel.id }))
    : optionItems(one);
  const named = (value) => items().find((item) => item.value === value)?.label ?? label(offered.get(value)
    ?.text) ?? value;
  const face = el("span", { class: "face" });
  const draw = () => {
    face.classList.toggle("blank", !current);
    fill(face, current ? el("span", {}, named(current)) : label(one.placeholder) || "Select an item");
  };
  const marked = (list) => list.map((item) => ({
    ...item,
    mark: item.value === current
  }));
  const load = kind === "external_select" ? async (query) => {
    if (query.length < (one.min_query_length ?? 3)) return [];
    const found = (await ctx.options(block, one, query)).map(optionItem);
    for (const item of found) offered.set(item.value, item.raw);
    return marked(found);
  }: null;
  const node = el("button", {
    type: "button",
    class: "select",
    disabled: ctx.dead,
    "aria-haspopup": "listbox",
    data: { testid: "select", action: one.action_id },
    onclick: () => {
      const all = marked(items());
      listbox(node, all, (item) => {
        const asOption = (value) => offered.get(value) ?? value;
        current = item.value;
        draw();
        const value = kind === "external_select" ? asOption(current)
          : current;
        chosen(ctx, block, one, value, node);
      }, { filter: all.length > 7, load, wide: true });
    }
  }, face, icon("down"));
  draw();
  return node;
}

const localDateTime = (seconds) => {
  const date = new Date(seconds * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
};

function moment(ctx, block, one) {
  const now = ctx.form.get(block, one) ?? one.initial_date_time ?? null;
  const read = () => node.value === "" ? null : Math.floor(new Date(node.value).getTime() / 1000);
  const node = el("input", {
    type: "datetime-local",
    class: "field short",
    value: now === null ? "" : localDateTime(now),
    disabled: ctx.dead,
    "aria-label": label(one.placeholder) || label(block.label) || "Date and time",
    data: { testid: "datetime-local", action: one.action_id },
    onchange: () => chosen(ctx, block, one, read(), node)
  });
  return node;
}

function boxes(ctx, block, one) {
  const single = one.type === "radio_buttons";
  const before = ctx.form.get(block, one) ?? (single ? one.initial_option?.value : (one.initial_options || [])
    .map((option) => option.value));
  const group = `${block.block_id}-${one.action_id}`;
  const node = el("div", { class: "boxes", role: single ? "radiogroup" : "group" }, one.options.map((option) =>
    el("label", { class: "box" },
      el("input", {
        type: single ? "radio" : "checkbox",
        name: group,
        value: option.value,
        disabled: ctx.dead,
        checked: single ? before === option.value : (before || []).includes(option.value),
        data: { testid: single ? "radio" : "checkbox" },
        onchange: () => {
          const now = [...node.querySelectorAll("input:checked")].map((input) => input.value);
          chosen(ctx, block, one, single ? now[0] : now, node);
        }
      }),
      el("span", {}, text(option.text, ctx.names), option.description ? el("small", {}, text(option
        .description, ctx.names)) : null))));
  return node;
}

function typed(ctx, block, one) {
  const most = one.max_length ?? 3000;
  const count = el("small", { class: "count" });
  const node = el(one.multiline ? "textarea" : "input", {
    class: "field",
    type: one.multiline ? null : "text",
    rows: one.multiline ? 4 : null,
    maxlength: most,
    placeholder: label(one.placeholder),
    "aria-label": label(block.label),
    autofocus: one.focus_on_load,
    data: { testid: "input", action: one.action_id },
    value: ctx.form.get(block, one) ?? one.initial_value ?? "",
    oninput: () => {
      ctx.form.set(block, one, node.value);
      counted();
    },
    onkeydown: (event) => {
      if (event.key === "Enter" && !one.multiline && block.dispatch_action) {
        event
          .preventDefault();
        fire(ctx, block, one, node.value, node);
      }
    }
  });
  const counted = () => {
    const left = (one.max_length ?? Infinity) - node.value.length;
    fill(count, left < 200 ? `${left} left` : "");
  };
  counted();
  return el("div", { class: "typed" }, node, count);
}

const BUILDERS = {
  button,
  overflow,
  static_select: select,
  external_select: select,
  users_select: select,
  conversations_select: select,
  datetimepicker: moment,
  checkboxes: boxes,
  radio_buttons: boxes,
  plain_text_input: typed,
};
