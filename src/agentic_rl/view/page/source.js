// Where the page has what it shows from: a server, or the file itself.

class LiveSource {
  constructor() {
    this.live = true;
    this.kept = new Map();
  }

  async ask(name, query) {
    const address = `/api/${name}?${new URLSearchParams(query)}`;
    const answer = await fetch(address, { cache: "no-store" });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error);
    return body;
  }

  run() {
    return this.ask("run");
  }

  curves() {
    return this.ask("curves");
  }

  groups(start) {
    return this.ask("groups", { start });
  }

  // A rollout; the newest 200 are kept, so that going back is at once.
  rollout(row, brief) {
    const generation = state.generation;
    const name = `${generation}/${row}/${brief}`;
    if (!this.kept.has(name)) {
      const answer = this.ask("rollout", { row, generation, brief: brief ? 1 : 0 });
      answer.catch(() => this.kept.delete(name));
      this.kept.set(name, answer);
      if (this.kept.size > 200) this.kept.delete(this.kept.keys().next().value);
    }
    return this.kept.get(name);
  }

  // Calls `found` with more and more rows; ends when `stopped` says so.
  async search(text, found, stopped) {
    const rows = [];
    for (let start = 0; start !== null; ) {
      const answer = await this.ask("search", { text, start });
      if (stopped() || answer.generation !== state.generation) return;
      rows.push(...answer.hits);
      start = answer.next;
      found(rows, start === null);
    }
  }
}

class FileSource {
  constructor(data) {
    this.data = data;
  }

  async run() {
    return this.data.run;
  }

  async curves() {
    return this.data.curves;
  }

  async groups() {
    return this.data.listing;
  }

  async rollout(row) {
    return this.data.rollouts[row];
  }

  async search(text, found) {
    const wanted = text.toLowerCase();
    const rows = Object.values(this.data.rollouts).filter((rollout) => textsOf(rollout).toLowerCase().includes(wanted));
    found(
      rows.map((rollout) => rollout.row),
      true,
    );
  }
}

function textsOf(rollout) {
  const texts = [rollout.error || ""];
  for (const message of rollout.messages) {
    texts.push(message.text, message.reasoning || "");
    for (const call of message.calls || []) texts.push(call.name, call.arguments);
  }
  return texts.join("\n");
}
