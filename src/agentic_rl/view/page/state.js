// What is known of the run, and what the reader has chosen.

const state = {
  run: null,
  generation: 0,
  groups: [],
  byName: new Map(), // "step.idx" -> number in `groups`
  total: 0,
  rollouts: 0,
  sources: [],
  finishes: [],
  progress: { done: 0, size: 0, unreadable: 0, torn: false },
  lowest: 0, // reward
  highest: 1,
  curves: [],
  filter: { source: "", finish: "", kind: "", first: "", last: "", low: "", high: "", order: "file", text: "" },
  hits: null, // rows that the text search has found; null: no search
  searching: false,
  lost: false, // the server does not answer
};

function nameOf(group) {
  return `${group.step}.${group.idx}`;
}

function forget() {
  state.groups = [];
  state.byName = new Map();
  state.lowest = 0;
  state.highest = 1;
  state.hits = null;
}

// Takes an answer about groups in; true where something has changed.
function takeListing(answer) {
  const anew = answer.generation !== state.generation;
  if (anew) forget();
  const before = picture();
  Object.assign(state, {
    generation: answer.generation,
    total: answer.total,
    rollouts: answer.rollouts,
    sources: answer.sources,
    finishes: answer.finishes,
    progress: answer.progress,
  });
  if (!anew || answer.start === 0) answer.groups.forEach((group, place) => takeGroup(group, answer.start + place));
  return before !== picture();
}

// What a change of has to be shown.
function picture() {
  return JSON.stringify([state.rollouts, state.progress, state.generation, state.groups.length]);
}

function takeGroup(group, number) {
  group.number = number;
  group.known = known(group.rewards);
  group.mean = mean(group.known);
  group.spread = group.known.length ? Math.max(...group.known) - Math.min(...group.known) : 0;
  for (const reward of group.known) {
    state.lowest = Math.min(state.lowest, reward);
    state.highest = Math.max(state.highest, reward);
  }
  state.groups[number] = group;
  if (!state.byName.has(nameOf(group))) state.byName.set(nameOf(group), number);
}

// The groups that the filter lets through, in its order.
function shownGroups() {
  const { source, finish, kind, first, last, low, high, order } = state.filter;
  const found = state.hits && new Set(state.hits);
  const shown = state.groups.filter(
    (group) =>
      (source === "" || state.sources[group.source] === source) &&
      (finish === "" || group.finishes.some((number) => state.finishes[number] === finish)) &&
      (kind === "" || KINDS[kind].test(group)) &&
      (first === "" || group.step >= Number(first)) &&
      (last === "" || group.step <= Number(last)) &&
      (low === "" || (group.mean !== null && group.mean >= Number(low))) &&
      (high === "" || (group.mean !== null && group.mean <= Number(high))) &&
      (!found || group.rewards.some((_, place) => found.has(group.row + place))),
  );
  return ORDERS[order].compare ? shown.sort(ORDERS[order].compare) : shown;
}

const KINDS = {
  mixed: { text: "rewards differ", test: (group) => group.spread > 0 },
  even: { text: "rewards are equal", test: (group) => group.spread === 0 },
  failed: { text: "a rollout failed", test: (group) => group.failed.some(Boolean) },
};

const ORDERS = {
  file: { text: "as trained" },
  newest: { text: "newest first", compare: (a, b) => b.step - a.step || a.idx - b.idx },
  worst: { text: "lowest reward first", compare: (a, b) => (a.mean ?? Infinity) - (b.mean ?? Infinity) },
  best: { text: "highest reward first", compare: (a, b) => (b.mean ?? -Infinity) - (a.mean ?? -Infinity) },
  spread: { text: "widest spread first", compare: (a, b) => b.spread - a.spread },
};
