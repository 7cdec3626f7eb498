// data_table blocks, which are sorted by a click on a header and turned page by page.

import { el, fill } from "./dom.js";
import { richText } from "./mrkdwn.js";

const words = (one) => (one.type === "rich_text" ? "" : one.text ?? String(one.value));

function cell(one, ctx, tag) {
  const inner = one.type === "rich_text" ? richText(one, ctx.names) : words(one);
  return el(tag, { class: one.type === "raw_number" ? "right" : "" }, inner ?? "");
}

// By number where every cell of the column is one, else by letters, as Slack's reference of the block says.
function sorted(rows, column, down) {
  const numbers = rows.every((row) => row[column].type === "raw_number");
  const compare = (a, b) => (numbers ? a[column].value - b[column].value : words(a[column]).localeCompare(words(
    b[column])));
  return [...rows].sort((a, b) => (down ? -1 : 1) * compare(a, b));
}

export function dataTable(block, ctx) {
  const [head, ...rows] = block.rows;
  const size = block.page_size || 5,
    named = block.row_header_column_index || 0;
  const pages = Math.ceil(rows.length / size);
  let page = 0,
    column = -1,
    down = false;
  const body = el("tbody"),
    place = el("span");
  const right = (index) => rows.some((row) => row[index].type === "raw_number");
  const heads = head.map((one, index) => el("th", { class: right(index) ? "right" : "", "aria-sort": "none" },
    el("button", {
      type: "button",
      class: "sort",
      onclick: () => {
        down = column === index && !down;
        column = index;
        page = 0;
        show();
      }
    }, words(one))));
  const turn = (by, label) => el("button", {
    type: "button",
    class: "turn",
    onclick: () => {
      page += by;
      show();
    }
  }, label);
  const back = turn(-1, "Previous"),
    on = turn(1, "Next");

  function show() {
    const order = column < 0 ? rows : sorted(rows, column, down);
    fill(body, order.slice(page * size, (page + 1) * size).map((row) => el("tr", {}, row.map((one, index) =>
      cell(one, ctx, index === named ? "th" : "td")))));
    heads.forEach((one, index) => one.setAttribute("aria-sort", index !== column ? "none" : down ? "descending"
      : "ascending"));
    back.disabled = page === 0;
    on.disabled = page >= pages - 1;
    place.textContent = `Page ${page + 1} of ${pages}`;
  }
  show();
  return el("div", { class: "data-table" },
    el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("caption", {}, block.caption), el(
      "thead", {}, el("tr", {}, heads)), body)),
    pages > 1 ? el("div", { class: "pages" }, back, place, on) : null);
}
