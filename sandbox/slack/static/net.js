// The stand-in's own addresses: what to read, what to do, and the live stream with its reconnects.

async function parsed(response) {
  const body = await response.json().catch(() => ({ ok: false, error: `status ${response.status}` }));
  if (!response.ok) throw new Error(body.error || `status ${response.status}`);
  return body;
}

export async function read(path, query = {}) {
  return parsed(await fetch(`${path}?${new URLSearchParams(query)}`));
}

export async function act(name, body = {}) {
  return parsed(
    await fetch(`/control/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

// One stream at a time; `heard` gets {kind, data, number}, `status` gets connecting | live | lost.
export class Stream {
  constructor(heard, status) {
    this.heard = heard;
    this.status = status;
    this.source = null;
  }

  open(user, after) {
    this.source?.close();
    this.status("connecting");
    const source = new EventSource(`/page/feed?${new URLSearchParams({ user, after })}`);
    this.source = source;
    source.onopen = () => this.status("live");
    source.onerror = () => {
      if (this.source !== source) return;
      this.status("lost");
      // EventSource gives up after a response that isn't a stream; a restarting stand-in gives such responses.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.source === source && this.open(
        user, after), 1500);
    };
    source.onmessage = (event) => this.heard({
      ...JSON.parse(event.data),
      number: Number(event
        .lastEventId)
    });
    source.addEventListener("gap", () => this.heard({ kind: "gap", data: {} }));
  }
}
