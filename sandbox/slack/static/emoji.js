// The shortcodes that bots like; what is not here stays as it was written.

const KNOWN = {
  "+1": "👍", thumbsup: "👍", "-1": "👎", thumbsdown: "👎", tada: "🎉", fire: "🔥", eyes: "👀", rocket: "🚀",
  white_check_mark: "✅", heavy_check_mark: "✔️", x: "❌", warning: "⚠️", rotating_light: "🚨", bell: "🔔",
  no_bell: "🔕", red_circle: "🔴", large_yellow_circle: "🟡", large_orange_circle: "🟠", large_green_circle: "🟢",
  large_blue_circle: "🔵", white_circle: "⚪", black_circle: "⚫", double_vertical_bar: "⏸️", pause_button: "⏸️",
  arrow_forward: "▶️", arrow_up: "⬆️", arrow_down: "⬇️", arrow_right: "➡️", hourglass: "⌛",
  hourglass_flowing_sand: "⏳", zzz: "💤", email: "📧", envelope: "✉️", inbox_tray: "📥", outbox_tray: "📤",
  mailbox: "📫", mailbox_with_mail: "📬", bar_chart: "📊", chart_with_upwards_trend: "📈",
  chart_with_downwards_trend: "📉", calendar: "📅", date: "📅", clock3: "🕒", alarm_clock: "⏰", memo: "📝",
  speech_balloon: "💬", star: "⭐", sparkles: "✨", wave: "👋", pray: "🙏", clap: "👏", handshake: "🤝",
  raised_hands: "🙌", thinking_face: "🤔", smile: "😄", slightly_smiling_face: "🙂", heart: "❤️", lock: "🔒",
  unlock: "🔓", key: "🔑", link: "🔗", gear: "⚙️", wrench: "🔧", hammer: "🔨", bulb: "💡", bug: "🐛", robot_face: "🤖",
  busts_in_silhouette: "👥", bust_in_silhouette: "👤", dart: "🎯", moneybag: "💰", trophy: "🏆", house: "🏠",
  globe_with_meridians: "🌐", question: "❓", grey_question: "❔", exclamation: "❗", information_source: "ℹ️",
  stop_sign: "🛑", no_entry: "⛔", no_entry_sign: "🚫", construction: "🚧", repeat: "🔁", arrows_counterclockwise: "🔄",
  leftwards_arrow_with_hook: "↩️", heavy_plus_sign: "➕", heavy_minus_sign: "➖", small_red_triangle: "🔺",
  small_red_triangle_down: "🔻", palm_tree: "🌴", airplane: "✈️", point_right: "👉", point_up: "☝️", ok_hand: "👌",
  100: "💯", raising_hand: "🙋", ok: "🆗", new: "🆕", pushpin: "📌", paperclip: "📎", mag: "🔍", books: "📚",
};

export const QUICK = ["+1", "eyes", "white_check_mark", "tada", "raised_hands", "fire", "thinking_face", "pray"];

export const glyph = (name) => (Object.hasOwn(KNOWN, name) ? KNOWN[name] : null);

export const withEmoji = (text) =>
  text.replace(/:([a-z0-9_+-]{1,40}):/g, (whole, name) => glyph(name) ?? whole);
