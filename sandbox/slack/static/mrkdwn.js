// Slack's mrkdwn, Markdown blocks and rich text, as DOM nodes. Nothing here reads HTML.

import { el } from "./dom.js";
import { withEmoji } from "./emoji.js";

const SAFE = /^(https?:|mailto:|tel:)/i;
const decoded = (text) => text.replace(/&(amp|lt|gt);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">" })[name]);
const spoken = (text) => document.createTextNode(withEmoji(decoded(text)));

export function link(url, label) {
  if (!SAFE.test(url)) return el("span", { class: "dead-link", title: "Not a web link" }, label || url);
  const own = label && label !== url ? { title: url } : {};
  return el("a", { href: url, target: "_blank", rel: "noopener noreferrer", ...own }, label || url.replace(
    /^mailto:/i, ""));
}

const mention = (text, kind, data = {}) => el("span", { class: `mention ${kind}`, data }, text);

function special(body, names) {
  const [target, label] = [body.split("|")[0], body.includes("|") ? decoded(body.slice(body.indexOf("|") + 1))
    : ""
  ];
  if (target.startsWith("@")) {
    const user = names.user(target.slice(1));
    return mention(`@${user?.real_name || label || target.slice(1)}`, target.slice(1) === names.me ? "me"
      : "", { user: target.slice(1) });
  }
  if (target.startsWith("#")) return mention(
    `#${names.channel(target.slice(1))?.name || label || target.slice(1)}`, "");
  if (target.startsWith("!subteam^")) return mention(
    `@${names.group(target.slice(9))?.handle || label || "group"}`, "me");
  if (target.startsWith("!date^")) return when(target.slice(6).split("^"), label);
  if (/^!(here|channel|everyone)$/.test(target)) return mention(`@${target.slice(1)}`, "loud");
  return link(decoded(target), label);
}

function when([stamp, format, url], fallback) {
  const date = new Date(Number(stamp) * 1000);
  const text = Number.isNaN(date.getTime()) || !format ? fallback || String(stamp) : dated(date, decoded(
    format));
  return el("time", {
    datetime: Number.isNaN(date.getTime()) ? null : date.toISOString(),
    title: fallback
      || null
  }, url ? link(decoded(url), text) : text);
}

function dated(date, format) {
  const write = (options) => date.toLocaleString([], { hour12: false, ...options });
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(date).setHours(0, 0, 0, 0)) / 864e5);
  const near = { 0: "today", 1: "yesterday", "-1": "tomorrow" } [days];
  const long = write({ weekday: "long", year: "numeric", month: "long", day: "numeric" });
  const short = write({ year: "numeric", month: "short", day: "numeric" });
  const plain = write({ year: "numeric", month: "long", day: "numeric" });
  const values = {
    date_num: [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((n) => String(n).padStart(2, "0"))
      .join("-"),
    date: plain,
    date_short: short,
    date_long: long,
    date_pretty: near || plain,
    date_short_pretty: near || short,
    date_long_pretty: near || long,
    time: write({ hour: "2-digit", minute: "2-digit" }),
    time_secs: write({ hour: "2-digit", minute: "2-digit", second: "2-digit" }),
    ago: ago(date),
  };
  return format.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? values[name] : whole));
}

function ago(date) {
  const seconds = (Date.now() - date.getTime()) / 1000;
  const [unit, size] = Math.abs(seconds) < 3600 ? ["minute", 60] : Math.abs(seconds) < 86400 ? ["hour", 3600]
    : ["day", 86400];
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.round(seconds / size), unit);
}

const MARKS = [
  [/(^|[\s(\[{"'.,;:!?>_~*-])\*(?=\S)([^*\n]*[^*\s])\*(?=$|[\s)\]}"'.,;:!?<_~*-])/, "strong"],
  [/(^|[\s(\[{"'.,;:!?>_~*-])_(?=\S)([^_\n]*[^_\s])_(?=$|[\s)\]}"'.,;:!?<_~*-])/, "em"],
  [/(^|[\s(\[{"'.,;:!?>_~*-])~(?=\S)([^~\n]*[^~\s])~(?=$|[\s)\]}"'.,;:!?<_~*-])/, "s"],
];

// A piece is either an opaque node (code, link, mention) or text; marks may span over nodes.
function opaque(text, names) {
  const nodes = [];
  const flat = text.replace(/`([^`\n]+)`|<([^<>\n]+)>/g, (whole, code, angle) => {
    nodes.push(code !== undefined ? el("code", {}, decoded(code)) : special(angle, names));
    return `\uE000${nodes.length - 1}\uE001`;
  });
  return { flat, nodes };
}

function marked(text, nodes) {
  let first = null;
  for (const [pattern, tag] of MARKS) {
    const match = pattern.exec(text);
    if (match && (!first || match.index < first.match.index)) first = { match, tag };
  }
  if (!first) return placed(text, nodes);
  const { match, tag } = first;
  const start = match.index + match[1].length;
  return [
    ...placed(text.slice(0, start), nodes),
    el(tag, {}, marked(match[2], nodes)),
    ...marked(text.slice(match.index + match[0].length), nodes),
  ];
}

const placed = (text, nodes) =>
  text.split(/(\uE000\d+\uE001)/).filter(Boolean).map((part) => {
    const match = /^\uE000(\d+)\uE001$/.exec(part);
    return match && nodes[Number(match[1])] ? nodes[Number(match[1])] : spoken(part);
  });

export function inline(text, names) {
  // The private-use characters are ours; a message that brings its own loses them.
  const { flat, nodes } = opaque(text.replace(/[\uE000\uE001]/g, ""), names);
  return marked(flat, nodes);
}

const lines = (text, names) =>
  text.split("\n").flatMap((line, index) => [...(index ? [el("br")] : []), ...inline(line, names)]);

export function mrkdwn(text, names) {
  return text.split(/```/).flatMap((part, index, all) => {
    const fenced = index % 2 === 1 && index < all.length - 1;
    if (fenced) return [el("pre", {}, decoded(part.replace(/^\n|\n$/g, "")))];
    const shown = index % 2 === 1 ? "```" + part : part;
    return quoted(index ? shown.replace(/^\n/, "") : shown, names);
  });
}

function quoted(text, names) {
  const nodes = [];
  let plain = [],
    quote = [];
  const flush = () => {
    if (plain.length && plain.join("").length) nodes.push(el("span", { class: "lines" }, lines(plain.join(
      "\n"), names)));
    if (quote.length) nodes.push(el("blockquote", {}, lines(quote.join("\n"), names)));
    [plain, quote] = [
      [],
      []
    ];
  };
  for (const line of text.split("\n")) {
    const match = /^(?:>|&gt;) ?(.*)$/.exec(line);
    if (Boolean(match) !== quote.length > 0) flush();
    (match ? quote : plain).push(match ? match[1] : line);
  }
  flush();
  return nodes;
}

export function text(object, names) {
  if (!object) return [];
  if (object.type === "mrkdwn") return mrkdwn(object.text, names);
  return [document.createTextNode(object.emoji === false ? object.text : withEmoji(object.text))];
}

// Rich text comes as a tree already.
export function richText(block, names) {
  return (block.elements || []).map((part) => {
    const inner = () => (part.elements || []).map((leaf) => richLeaf(leaf, names));
    if (part.type === "rich_text_preformatted") return el("pre", {}, inner());
    if (part.type === "rich_text_quote") return el("blockquote", {}, inner());
    if (part.type === "rich_text_list") {
      const items = (part.elements || []).map((item) => el("li", {}, (item.elements || []).map((leaf) =>
        richLeaf(leaf, names))));
      return el(part.style === "ordered" ? "ol"
        : "ul", { class: `indent${Math.min(8, Number(part.indent) || 0)}` }, items);
    }
    return el("p", { class: "rich" }, inner());
  });
}

function richLeaf(leaf, names) {
  const style = leaf.style && typeof leaf.style === "object" ? leaf.style : {};
  let node = leafNode(leaf, names);
  for (const [name, tag] of [
      ["code", "code"],
      ["strike", "s"],
      ["italic", "em"],
      ["bold", "strong"],
      ["underline", "u"]
    ]) {
    if (style[name]) node = el(tag, {}, node);
  }
  return node;
}

function leafNode(leaf, names) {
  switch (leaf.type) {
    case "link":
      return link(String(leaf.url), leaf.text);
    case "emoji":
      return document.createTextNode(withEmoji(`:${leaf.name}:`));
    case "user":
      return special(`@${leaf.user_id}`, names);
    case "channel":
      return special(`#${leaf.channel_id}`, names);
    case "usergroup":
      return special(`!subteam^${leaf.usergroup_id}`, names);
    case "broadcast":
      return special(`!${leaf.range}`, names);
    case "date":
      return when([leaf.timestamp, leaf.format, leaf.url], leaf.fallback);
    default:
      return el("span", { class: "lines" }, String(leaf.text ?? ""));
  }
}
