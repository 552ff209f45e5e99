// The list of groups. Only the rows in sight are elements, so that a hundred thousand groups scroll well.

const ROW = 66; // pixels, as in the style sheet
const AROUND = 6;

const list = {
  box: el("div.list", { tabIndex: 0, role: "listbox", "aria-label": "Groups" }),
  room: el("div.room"),
  shown: [],
  chosen: null,
};
list.box.append(list.room);
list.box.addEventListener("scroll", () => drawList(), { passive: true });
list.box.addEventListener("keydown", (event) => {
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -Infinity, End: Infinity };
  const move = moves[event.key];
  if (move === undefined || !list.shown.length) return;
  event.preventDefault();
  const place = list.shown.indexOf(list.chosen);
  const next = Math.max(0, Math.min(list.shown.length - 1, place + move));
  openGroup(list.shown[next], { quietly: true });
  bringIntoSight(next);
});
new ResizeObserver(() => drawList()).observe(list.box);

function refreshList() {
  list.shown = shownGroups();
  list.room.style.height = `${list.shown.length * ROW}px`;
  drawList();
}

function drawList() {
  const first = Math.max(0, Math.floor(list.box.scrollTop / ROW) - AROUND);
  const last = Math.min(list.shown.length, Math.ceil((list.box.scrollTop + list.box.clientHeight) / ROW) + AROUND);
  const rows = [];
  for (let place = first; place < last; place += 1) rows.push(listRow(list.shown[place], place));
  list.room.replaceChildren(...rows);
  const chosen = list.shown.indexOf(list.chosen);
  if (chosen >= first && chosen < last) list.box.setAttribute("aria-activedescendant", `group-${chosen}`);
  else list.box.removeAttribute("aria-activedescendant");
}

function bringIntoSight(place) {
  if (place < 0) return;
  const { scrollTop, clientHeight } = list.box;
  if (place * ROW < scrollTop) list.box.scrollTop = place * ROW;
  else if ((place + 1) * ROW > scrollTop + clientHeight) list.box.scrollTop = (place + 1) * ROW - clientHeight;
}

function listRow(group, place) {
  const row = el(
    "div.row",
    {
      id: `group-${place}`,
      role: "option",
      "aria-selected": String(group === list.chosen),
      "aria-posinset": place + 1,
      "aria-setsize": list.shown.length,
      onclick: () => openGroup(group),
    },
    el("div.row-head", null, el("b", null, `Step ${whole(group.step)}`), el("span.note", null, `prompt ${group.idx}`), el("span.note.source", null, state.sources[group.source]), rewardPill(group.mean === null ? null : group.mean)),
    el("div.row-text", null, group.opening || "–"),
    rewardStrip(group),
  );
  row.style.top = `${place * ROW}px`;
  return row;
}

// One mark a rollout, coloured by its reward.
function rewardStrip(group) {
  const marks = group.rewards.slice(0, 64).map((reward, place) => el(`i.r${group.failed[place] ? "none" : rewardClass(reward)}`));
  const told = group.rewards.map((reward) => short(reward)).join(", ");
  return el("div.strip", { role: "img", "aria-label": `rewards ${told}`, title: `rewards ${told}` }, ...marks);
}
