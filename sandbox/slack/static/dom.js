// Elements are built, never parsed: whatever a message says can only become text.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(node, name, value);
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child
    !== false));
  return node;
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (name === "class") node.className = value;
  else if (name === "data") Object.assign(node.dataset, value);
  else if (name === "value" || name === "checked" || name === "indeterminate") node[name] = value;
  else node.setAttribute(name, value === true ? "" : value);
}

export const $ = (id) => document.getElementById(id);

export const fill = (node, ...children) => {
  node.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return node;
};

// Brings the children of `node` into this order and touches only those that are out of place, so that focus stays.
export function arrange(node, children) {
  const wanted = new Set(children);
  for (const child of [...node.childNodes])
    if (!wanted.has(child)) child.remove();
  let at = node.firstChild;
  for (const child of children) {
    if (child === at) at = at.nextSibling;
    else node.insertBefore(child, at);
  }
}

const PATHS = {
  hash: "M9 4 7.5 20M16.5 4 15 20M4.5 9h16M3.5 15h16",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  box: "M4 5h16v4H4zM5.5 9v10h13V9M10 13h4",
  thread: "M5 6h14v9H11l-4 4v-4H5z",
  close: "M6 6l12 12M18 6 6 18",
  send: "M5 12 4 5l17 7-17 7 1-7zM5 12h8",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  down: "M7 10l5 5 5-5",
  eye: "M3 12s3.5-6 9-6 9 6 9 6-3.5 6-9 6-9-6-9-6zM12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  home: "M4 11.5 12 5l8 6.5M6.5 10v9h11v-9",
  pulse: "M3 12h4l2.5-6 5 12L17 12h4",
  menu: "M4 7h16M4 12h16M4 17h16",
  smile: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM9 10h.01M15 10h.01M8.5 14s1 2 3.5 2 3.5-2 3.5-2",
  code: "M9 8l-4 4 4 4M15 8l4 4-4 4",
  file: "M7 4h7l4 4v12H7zM14 4v4h4",
  image: "M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 16M15.5 9h.01",
  check: "M5 12.5l4.5 4.5L19 7.5",
  warn: "M12 4 2.8 19.5h18.4zM12 10v4.5M12 17h.01",
  bolt: "M13 3 5 13.5h6L10 21l8-10.5h-6z",
  search: "M11 17a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM15.5 15.5 20 20",
};

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

export function avatar(user, size = "") {
  if (user?.id === "USLACKBOT") return el("span", { class: `avatar quiet-bot ${size}`, "aria-hidden": "true" },
    icon("hash"));
  if (user?.is_bot) return el("span", { class: `avatar bot ${size}`, "aria-hidden": "true" }, icon("bolt"));
  const name = user?.real_name || "?";
  const initials = name.split(/\s+/).map((part) => part[0]).slice(0, 2).join("");
  const tone = [...(user?.id || "")].reduce((sum, char) => sum + char.charCodeAt(0), 0) % 6;
  return el("span", { class: `avatar tone${tone} ${size}`, "aria-hidden": "true" }, initials);
}

export const clock = (seconds, withSeconds = false) =>
  new Date(seconds * 1000).toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    hour12: false,
    ...(withSeconds ? { second: "2-digit" } : {}),
  });

export function day(seconds) {
  const date = new Date(seconds * 1000);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(date).setHours(0, 0, 0, 0)) / 864e5);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return date.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });
}

let noticeTimer;
export function notice(text) {
  const node = fill($("notice"), el("span", {}, text));
  node.classList.add("shown");
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => node.classList.remove("shown"), 4000);
}
