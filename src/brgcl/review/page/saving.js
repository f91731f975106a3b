/* Talking to the server. One change at a time: it counts as saved when the server says that it is
 * on disk. Until then it is kept here, also when the page is loaded again, and is sent again under
 * the same name, so that it counts once however often it arrives. */

const TOKEN = new URLSearchParams(location.search).get("token") || "";
const PLACE = "brgcl-unsaved";

async function send(path, options = {}) {
  const headers = { "x-brgcl-token": TOKEN, ...options.headers };
  const reply = await fetch(path, { ...options, headers, signal: AbortSignal.timeout(15000) });
  const json = (reply.headers.get("content-type") || "").startsWith("application/json");
  const content = json ? await reply.json() : { error: await reply.text() };
  return { status: reply.status, ...content };
}

export async function read(path) {
  const reply = await send(path);
  if (reply.status !== 200) throw new Error(reply.error);
  return reply;
}

export async function download(path, name) {
  const reply = await fetch(path, { headers: { "x-brgcl-token": TOKEN } });
  if (!reply.ok) throw new Error(await reply.text());
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await reply.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export class Saver {
  /** callbacks: onSaving(change), onSaved(change, reply), onRefused(change, reply) when it will
   * never be saved as it is, onTrouble(change, text) when it may be if it is sent again. */
  constructor(callbacks) {
    this.callbacks = callbacks;
    this.change = JSON.parse(sessionStorage.getItem(PLACE) || "null");
    this.busy = false;
    addEventListener("beforeunload", (event) => {
      if (this.change) event.preventDefault();
    });
  }

  /** Send a change; false if another one is still on its way. */
  save(path, body, about) {
    if (this.change) return false;
    this.change = { path, about, body: { request: crypto.randomUUID(), ...body } };
    sessionStorage.setItem(PLACE, JSON.stringify(this.change));
    this.retry();
    return true;
  }

  /** Send what could not be saved again. */
  async retry() {
    const { change } = this;
    if (!change || this.busy) return;
    this.busy = true;
    clearTimeout(this.timer);
    this.callbacks.onSaving(change);
    let reply;
    try {
      reply = await send(change.path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(change.body),
      });
    } catch {
      reply = { status: 0, error: "the server does not answer; start brgcl review again" };
    }
    this.busy = false;
    if (reply.status === 200 || [409, 410, 422].includes(reply.status)) {
      this.change = null;
      sessionStorage.removeItem(PLACE);
      const { onSaved, onRefused } = this.callbacks;
      (reply.status === 200 ? onSaved : onRefused)(change, reply);
    } else {
      this.callbacks.onTrouble(change, reply.error || `error ${reply.status}`);
      this.timer = setTimeout(() => this.retry(), 2000);
    }
  }
}
