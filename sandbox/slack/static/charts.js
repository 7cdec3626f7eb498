// data_visualization blocks, drawn in SVG: pie, bar, line and area.

import { el } from "./dom.js";

const WIDTH = 600,
  HEIGHT = 220,
  LEFT = 46,
  RIGHT = 12,
  TOP = 12,
  BOTTOM = 30;
const figure = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

function svg(tag, props, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  node.append(...children.flat());
  return node;
}

const tip = (words) => {
  const node = svg("title", {});
  node.textContent = words;
  return node;
};
const letters = (x, y, words, anchor = "middle") => {
  const node = svg("text", { x, y, "text-anchor": anchor });
  node.textContent = words;
  return node;
};

function pie(chart) {
  const total = chart.segments.reduce((sum, one) => sum + one.value, 0);
  let angle = -Math.PI / 2;
  const at = (turn) => `${110 + 90 * Math.cos(turn)} ${110 + 90 * Math.sin(turn)}`;
  return chart.segments.map((one, index) => {
    const share = one.value / total,
      begun = angle;
    angle += share * 2 * Math.PI;
    const words = tip(`${one.label}: ${figure.format(one.value)} (${Math.round(share * 100)}%)`);
    if (share > 0.999) return svg("circle", { cx: 110, cy: 110, r: 90, class: `fill${index}` }, words);
    return svg("path", {
      d: `M110 110L${at(begun)}A90 90 0 ${share > 0.5 ? 1 : 0} 1 ${at(angle)}Z`,
      class: `fill${index}`
    }, words);
  });
}

function plot(chart) {
  const { categories, y_label: unit } = chart.axis_config;
  const values = chart.series.flatMap((one) => one.data.map((point) => point.value));
  const top = Math.max(0, ...values) || 1,
    floor = Math.min(0, ...values);
  const step = (WIDTH - LEFT - RIGHT) / categories.length;
  const x = (place) => LEFT + step * (place + 0.5);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - floor) / (top - floor));
  const every = Math.ceil((Math.max(...categories.map((name) => name.length)) * 6 + 8) / step);
  const axis = [floor, (floor + top) / 2, top].flatMap((value) => [
    svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "grid" }), letters(LEFT
      - 6, y(value) + 4, figure.format(value), "end")
  ]);
  const names = categories.map((name, place) => (place % every ? [] : letters(x(place), HEIGHT - 10, name)))
    .flat();
  const marks = chart.series.map((one, index) => {
    const say = (point) => tip(
      `${one.name}, ${point.label}: ${figure.format(point.value)}${unit ? ` ${unit}` : ""}`);
    if (chart.type === "bar") {
      const width = Math.min(40, (step * 0.7) / chart.series.length);
      return one.data.map((point, place) => svg("rect", {
        x: x(place) + width * (index - chart.series.length
          / 2),
        width,
        y: Math.min(y(point.value), y(0)),
        height: Math.abs(y(point.value) - y(0)),
        class: `fill${index}`
      }, say(point)));
    }
    const line = one.data.map((point, place) => `${x(place)},${y(point.value)}`).join(" ");
    const last = one.data.length - 1;
    const area = chart.type === "area" ? [svg(
        "polygon", { points: `${x(0)},${y(0)} ${line} ${x(last)},${y(0)}`, class: `area fill${index}` })]
      : [];
    return [...area, svg("polyline", { points: line, class: `line stroke${index}` }), ...one.data.map((
      point, place) => svg("circle", {
      cx: x(place),
      cy: y(point.value),
      r: 3,
      class: `fill${index}`
    }, say(point)))];
  });
  return [...axis, ...names, ...marks.flat()];
}

export function chart(block) {
  const { chart: one, title } = block;
  const round = one.type === "pie";
  const legend = round ? one.segments.map((part) => part.label) : one.series.map((part) => part.name);
  const drawn = svg("svg", {
    viewBox: round ? "0 0 220 220" : `0 0 ${WIDTH} ${HEIGHT}`,
    class: round ? "pie"
      : "plot",
    role: "img",
    "aria-label": title
  }, round ? pie(one) : plot(one));
  return el("figure", { class: "chart" }, el("figcaption", {}, el("strong", {}, title)),
    drawn, el("div", { class: "legend" }, legend.map((name, index) => el("span", { class: `key key${index}` },
      name))));
}
