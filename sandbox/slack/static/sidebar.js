// The workspace, its channels, and who is looking.

import { avatar, el, fill, icon } from "./dom.js";
import { listbox } from "./popover.js";

const roleOf = (user) => (user.is_stranger ? user.profile.title : user.is_restricted ? "Guest" : user.is_admin
  ? "Admin" : user.profile.title);

export function sidebar(node, app) {
  const item = (channel, name, sign) => {
    const current = app.place.kind === "channel" && app.place.id === channel.id;
    const marks = { current, unread: channel.unread && !current, faint: channel.is_archived };
    const names = Object.keys(marks).filter((mark) => marks[mark]);
    return el("button", {
        class: ["item", ...names].join(" "),
        "aria-current": current ? "page" : null,
        data: { testid: "channel", channel: name },
        onclick: () => app.go({ kind: "channel", id: channel.id })
      },
      icon(sign), el("span", { class: "name" }, name), channel.unread && !current ? el(
        "span", { class: "count", data: { testid: "unread" } }, channel.unread > 99 ? "99+" : String(channel
          .unread)) : null);
  };
  const sign = (channel) => (channel.is_archived ? "box" : channel.is_private ? "lock" : "hash");
  const open = app.channels.filter((channel) => !channel.is_im);
  const entries = (one, index) => {
    const direct = app.channels.find((channel) => channel.is_im && channel.members.includes(one.bot_user));
    const current = app.place.kind === "home" && app.place.id === one.id;
    return [el("button", {
        class: `item${current ? " current" : ""}`,
        data: {
          testid: index
            ? `home-item-${one.name}` : "home-item"
        },
        onclick: () => app.go({
          kind: "home",
          id: one
            .id
        })
      }, icon("home"), el("span", { class: "name" }, one.name)),
      direct ? item(direct, `${one.name} messages`, "thread") : null
    ];
  };
  const me = app.names.user(app.me);
  const switcher = el("button", {
      class: "me",
      "aria-haspopup": "listbox",
      data: { testid: "user-switcher" },
      onclick: () => listbox(switcher,
        app.names.people().map((user) => ({
          label: user.real_name,
          note: roleOf(user),
          value: user.id,
          mark: user.id === app.me
        })), (chosen) => app.become(chosen
          .value), { title: "See the workspace as" })
    },
    avatar(me), el("span", { class: "what" }, el("strong", {}, me.real_name), el("small", {}, roleOf(me))),
    icon("down"));
  const top = node.querySelector(".channels")?.scrollTop ?? 0;
  fill(node,
    el("header", {}, el("span", { class: "logo" }, app.team.name.slice(0, 1)), el("div", { class: "what" },
      el("strong", {}, app.team.name), status(app))),
    el("div", { class: "channels" },
      el("h2", {}, "Channels"), open.map((channel) => item(channel, channel.name, sign(channel))),
      el("h2", {}, "Apps"), app.apps.flatMap(entries)),
    switcher);
  node.querySelector(".channels").scrollTop = top;
}

function status(app) {
  const text = {
    connecting: "Connecting…",
    live: app.sockets ? "Live · Socket Mode" : "Live · HTTP",
    lost: "Reconnecting…"
  } [app.status];
  return el("small", { class: `status ${app.status}`, data: { testid: "status" }, role: "status" }, text);
}
