// What the page does around the terminal: its size on a phone, keys to touch, the title, and a new connection.
const KEYS = { escape: "\x1b", up: "\x1b[A", down: "\x1b[B", enter: "\r", tab: "\t" };
const COLUMNS = 60;  // the dashboard needs as many
const CELL = 0.6;  // of a letter's height is its width
const LARGEST = 16, SMALLEST = 8;
let connection;

// The terminal keeps its connection to itself.
window.WebSocket = class extends WebSocket {
  constructor(...address) {
    super(...address);
    connection = this;
    this.addEventListener("message", ({ data }) => {
      if (typeof data !== "string") return;
      const [kind, text] = JSON.parse(data);
      if (kind === "title") document.title = text;
    });
    this.addEventListener("open", () => {
      // On a phone, the focus would bring up a keyboard over half of the page.
      if (!matchMedia("(pointer: coarse)").matches) document.querySelector(".xterm-helper-textarea")?.focus();
    });
    this.addEventListener("close", () => { document.title = "Disconnected · Outreach"; });
  }
};

addEventListener("DOMContentLoaded", () => {
  const terminal = document.getElementById("terminal");
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  terminal.dataset.sessionWebsocketUrl = `${scheme}://${location.host}${terminal.dataset.sessionWebsocketUrl}`;
  if (!terminal.dataset.fontSize) {
    const fitting = Math.floor(10 * innerWidth / (COLUMNS + 1) / CELL) / 10;
    terminal.dataset.fontSize = Math.min(LARGEST, Math.max(SMALLEST, fitting));
  }
  for (const button of document.querySelectorAll("[data-keys]")) {
    button.addEventListener("pointerdown", (event) => event.preventDefault());  // the keyboard of a phone stays away
    button.addEventListener("click", () => {
      const keys = KEYS[button.dataset.keys] ?? button.dataset.keys;
      if (connection?.readyState === WebSocket.OPEN) connection.send(JSON.stringify(["stdin", keys]));
    });
  }
});

// A view whose connection has ended opens itself again as soon as the dashboard answers.
addEventListener("load", () => {
  const look = setInterval(async () => {
    if (!document.body.classList.contains("-closed")) return;
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (answer.ok || answer.status === 403) { clearInterval(look); location.reload(); }
    } catch { /* not yet */ }
  }, 3000);
});
