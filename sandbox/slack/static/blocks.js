// Block Kit as Slack draws it.

import { el, icon } from "./dom.js";
import { element } from "./elements.js";
import { link, richText, text } from "./mrkdwn.js";
import { dataTable } from "./tables.js";

export function blocks(list, ctx) {
  return list.map((block) => {
    const build = BUILDERS[block.type];
    const inner = build ? build(block, ctx) : el("span", { class: "unknown" }, `[${block.type}]`);
    return el("div", { class: `block ${block.type}`, data: { block: block.block_id ?? "" } }, inner);
  });
}

// What is elsewhere is named, not fetched.
function picture(one, { small = false } = {}) {
  const address = one.slack_file?.url || one.image_url || "";
  const host = URL.canParse(address) ? new URL(address).host : "elsewhere";
  if (small) return el("span", { class: "thumb away", title: `${one.alt_text} (${host})` }, icon("image"));
  return el("div", { class: "away", title: address }, icon("image"), el("span", {}, one.alt_text || "Image"),
    el("small", {}, `from ${host}, not loaded here`));
}

const inContext = (one, ctx) => (one.type === "image" ? picture(one, { small: true }) : el(
  "span", { class: "said" }, text(one, ctx.names)));

function input(block, ctx) {
  const error = ctx.errors?.[block.block_id];
  return el("div", { class: `asked${error ? " wrong" : ""}` },
    el("div", { class: "label" }, text(block.label, ctx.names), block.optional ? el("small", {},
      " (optional)") : null),
    element(ctx, block, block.element),
    error ? el("div", { class: "error", role: "alert", data: { testid: "input-error" } }, icon("warn"), error)
    : null,
    block.hint ? el("small", { class: "hint" }, text(block.hint, ctx.names)) : null);
}

const BUILDERS = {
  header: (block, ctx) => el("h3", {}, text(block.text, ctx.names)),
  divider: () => el("hr"),
  section: (block, ctx) => [
    el("div", { class: "body" },
      block.text ? el("div", { class: "said" }, text(block.text, ctx.names)) : null,
      block.fields ? el("div", { class: "fields" }, block.fields.map((field) => el("div", { class: "said" },
        text(field, ctx.names)))) : null),
    block.accessory ? el("div", { class: "accessory" }, block.accessory.type === "image" ? picture(block
      .accessory) : element(ctx, block, block.accessory)) : null,
  ].filter(Boolean).reduce((frame, part) => (frame.append(part), frame), document.createDocumentFragment()),
  context: (block, ctx) => el("div", { class: "row" }, block.elements.map((one) => inContext(one, ctx))),
  actions: (block, ctx) => el("div", { class: "row" }, block.elements.map((one) => element(ctx, block, one))),
  image: (block, ctx) => el("figure", {}, block.title ? el("figcaption", {}, text(block.title, ctx.names))
    : null, picture(block)),
  input,
  rich_text: (block, ctx) => el("div", { class: "said" }, richText(block, ctx.names)),
  data_table: dataTable,
};
