// What of the groups is listed, and in which order.

let typing = 0;
let searches = 0;

const filters = { box: el("form.filters", { role: "search", onsubmit: (event) => event.preventDefault() }), names: "" };
const count = el("p.note.count", { role: "status" });

function drawFilters() {
  const names = JSON.stringify([state.sources, state.finishes]);
  if (filters.names === names) return;
  filters.names = names;
  const text = el("input", {
    type: "search",
    placeholder: "Search the conversations",
    "aria-label": "Search the conversations",
    value: state.filter.text,
    oninput: (event) => {
      clearTimeout(typing);
      typing = setTimeout(() => searchFor(event.target.value), 300);
    },
  });
  const more = el("details.more", { open: filters.open }, el("summary", null, "Filter and order"), ...fields());
  more.addEventListener("toggle", () => (filters.open = more.open));
  filters.box.replaceChildren(text, more);
}

function fields() {
  const every = (names) => [["", "all"], ...names.filter(Boolean).map((name) => [name, name])];
  const kinds = [["", "all"], ...Object.entries(KINDS).map(([name, kind]) => [name, kind.text])];
  const orders = Object.entries(ORDERS).map(([name, order]) => [name, order.text]);
  const chosen = (name) => (value) => narrow({ [name]: value });
  return [
    select("Order", orders, state.filter.order, chosen("order")),
    select("Groups where", kinds, state.filter.kind, chosen("kind")),
    select("Source", every(state.sources), state.filter.source, chosen("source")),
    select("Ended by", every(state.finishes), state.filter.finish, chosen("finish")),
    between("Steps", "first", "last", 1),
    between("Mean reward", "low", "high", "any"),
    button("Clear", () => narrow({ source: "", finish: "", kind: "", first: "", last: "", low: "", high: "", order: "file" }, true)),
  ];
}

function between(label, low, high, step) {
  const field = (name, text) =>
    el("input", { type: "number", step, value: state.filter[name], placeholder: text, "aria-label": `${label}: ${text}`, oninput: (event) => narrow({ [name]: event.target.value }) });
  return el("div.field", null, el("span", null, label), el("div.pair", null, field(low, "from"), field(high, "to")));
}

function narrow(changes, anew) {
  Object.assign(state.filter, changes);
  if (anew) {
    filters.names = "";
    drawFilters();
  }
  list.box.scrollTop = 0;
  refreshList();
  drawCount();
}

async function searchFor(text) {
  const mine = (searches += 1);
  state.filter.text = text;
  state.hits = text ? [] : null;
  state.searching = Boolean(text);
  narrow({});
  if (!text) return redraw();
  try {
    await source.search(
      text,
      (rows, done) => {
        if (mine !== searches) return;
        state.hits = rows;
        state.searching = !done;
        refreshList();
        drawCount();
        if (done) redraw();
      },
      () => mine !== searches,
    );
  } catch {
    state.searching = false;
  }
  drawCount();
}

function drawCount() {
  const all = state.groups.length;
  const shown = list.shown.length;
  const groups = shown === all ? counted(all, "group") : `${whole(shown)} of ${counted(all, "group")}`;
  const hits = state.hits ? `, ${counted(state.hits.length, "rollout")} with the text` : "";
  count.textContent = `${groups}${hits}${state.searching ? ", searching …" : ""}`;
}
