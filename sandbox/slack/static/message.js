// One message: who, when, what, and what can be done with it.

import { avatar, clock, el, icon, notice } from "./dom.js";
import { act } from "./net.js";
import { blocks } from "./blocks.js";
import { mrkdwn } from "./mrkdwn.js";
import { listbox } from "./popover.js";

const AT_ONCE = 300;

// Consecutive messages of one person within five minutes share a head; a card with a headline stands alone.
export const follows = (one, before) =>
  Boolean(before) && before.user === one.user && !one.ephemeral === !before.ephemeral && one.ts - before.ts
  < AT_ONCE
  && !before.reply_count && one.blocks?.[0]?.type !== "header";

export function message(one, app, { joined = false, inThread = false } = {}) {
  const user = app.names.user(one.user);
  const ctx = context(one, app);
  const head = joined ? null : el("div", { class: "head" },
    el("span", { class: "who" }, user?.real_name || one.user),
    user?.is_bot ? el("span", { class: "badge" }, "App") : badge(user),
    el("time", {
      datetime: new Date(one.posted_at * 1000).toISOString(),
      title: new Date(one.posted_at * 1000)
        .toLocaleString()
    }, clock(one.posted_at)));
  return el("article", {
      class: `message${joined ? " joined" : ""}${one.ephemeral ? " ephemeral" : ""}`,
      tabindex: "-1",
      "aria-label": `${user?.real_name || ""} ${clock(one.posted_at)}`,
      data: { testid: one.ephemeral ? "ephemeral" : "message", ts: one.ts }
    },
    el("div", { class: "side" }, joined ? el("time", {}, clock(one.posted_at)) : avatar(user)),
    el("div", { class: "main-part" },
      one.ephemeral ? el("div", { class: "only" }, icon("eye"), "Only visible to you") : null,
      one.thread_ts && one.thread_ts !== one.ts && !inThread ? el("button", {
        class: "quiet",
        onclick: () =>
          app.openThread(one.thread_ts)
      }, "replied to a thread") : null,
      head,
      el("div", { class: "content" }, content(one, ctx)),
      one.edited ? el("span", {
        class: "edited",
        title: `${one.revisions.length} earlier version${one.revisions.length === 1 ? "" : "s"}`,
        data: { testid: "edited" }
      }, "(edited)") : null,
      app.failures.has(one.ts) ? el("div", { class: "failure", role: "alert", data: { testid: "failure" } },
        icon("warn"), failureText(app.failures.get(one.ts))) : null,
      one.reply_count && !inThread ? summary(one, app) : null),
    one.ephemeral ? null : tools(one, app, inThread));
}

const badge = (user) => {
  if (user?.is_stranger) return el("span", { class: "badge plain" }, user.profile.title);
  return user?.is_restricted ? el("span", { class: "badge plain" }, "Guest") : null;
};

const failureText = (error) => (error === "operation_timeout"
  ? "The app did not answer within 3 seconds (operation_timeout)."
  : `The app could not be reached or refused (${error}).`);

function context(one, app) {
  const form = app.formOf(one.ts);
  return {
    names: app.names,
    form,
    fire: (block, element, value) => app.guarded(() => {
      app.failures.delete(one.ts);
      return act("click", {
        user: app.me,
        channel: one.channel,
        ts: one.ts,
        block_id: block.block_id,
        action_id: element.action_id,
        values: form.values,
        ...(value === undefined ? {} : { value })
      });
    }),
    options: async (block, element, value) => (await act("options", {
      user: app.me,
      channel: one.channel,
      ts: one.ts,
      block_id: block.block_id,
      action_id: element.action_id,
      value
    })).options,
  };
}

function content(one, ctx) {
  const parts = one.blocks?.length ? blocks(one.blocks, ctx) : one.text ? [el("div", { class: "said" }, mrkdwn(
    one.text, ctx.names))] : [];
  for (const attachment of one.attachments || []) {
    const node = el("div", { class: "attachment" },
      attachment.title ? el("strong", {}, attachment.title) : null,
      attachment.blocks ? blocks(attachment.blocks, ctx) : el("div", { class: "said" }, mrkdwn(String(
        attachment.text ?? attachment.fallback ?? ""), ctx.names)));
    if (/^#?[0-9a-f]{6}$/i.test(attachment.color || "")) node.style.borderLeftColor =
      `#${attachment.color.replace("#", "")}`;
    parts.push(node);
  }
  return parts;
}

function summary(one, app) {
  const last = Number(one.latest_reply);
  return el("button", {
      class: "thread-link",
      data: { testid: "thread-link" },
      onclick: () => app.openThread(one
        .ts)
    },
    el("span", { class: "faces" }, one.reply_users.slice(0, 4).map((id) => avatar(app.names.user(id),
      "tiny"))),
    el("strong", {}, `${one.reply_count} ${one.reply_count === 1 ? "reply" : "replies"}`), el("small", {},
      `Last reply ${clock(last)}`));
}

function tools(one, app, inThread) {
  const tool = (name, title, onclick, testid) => el("button", {
    class: "tool",
    title,
    "aria-label": title,
    data: { testid },
    onclick
  }, icon(name));
  const more = tool("more", "More actions", (event) => listbox(event.currentTarget,
    [{ label: "Copy as JSON", value: "" }], () => copied(one)), "message-menu");
  return el("div", { class: "tools", role: "group", "aria-label": "Message actions" }, inThread ? null
    : tool("thread", "Reply in thread", () => app.openThread(one.thread_ts || one.ts), "open-thread"), more);
}

async function copied(one) {
  await navigator.clipboard.writeText(JSON.stringify(one, null, 2)).then(() => notice("Copied as JSON"), () =>
    notice("The browser did not allow copying"));
}
