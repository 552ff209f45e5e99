// The page as a whole: which view is shown, and what is asked for again while a run goes on.

const data = JSON.parse(document.getElementById("data").textContent);
const source = data === null ? new LiveSource() : new FileSource(data);
const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };
const main = document.getElementById("main");
const status = el("p.note.status", { role: "status" });
const detail = el("div.detail-slot");
const aside = el("aside.side", { "aria-label": "Groups of rollouts" }, filters.box, count, list.box);
const split = el("div.split", null, aside, detail);
const drawn = { tab: "", detail: "" };

function redraw() {
  drawn.detail = "";
  draw();
}

// The address says what is shown: #curves, #rollouts, #group/STEP.IDX, #rollout/STEP.IDX.SAMPLE, #run.
function route() {
  const [view, name = ""] = decodeURIComponent(location.hash.slice(1)).split("/");
  const parts = name.split(".");
  const group = state.groups[state.byName.get(parts.slice(0, 2).join("."))];
  const place = group && parts.length > 2 ? group.samples.indexOf(Number(parts[2])) : -1;
  return { view: ["curves", "rollouts", "group", "rollout", "run"].includes(view) ? view : "curves", group, place };
}

function draw() {
  const { view, group, place } = route();
  drawTop(view);
  const tab = ["group", "rollout"].includes(view) ? "rollouts" : view;
  document.body.dataset.view = view;
  if (tab !== drawn.tab) main.replaceChildren({ curves: curvesPage.box, rollouts: split, run: settingsView() }[tab]);
  if (tab === "curves") drawCurves();
  if (tab === "rollouts") drawRollouts(view, group, place, tab !== drawn.tab);
  drawn.tab = tab;
}

// The list stays where it is; what is beside it is drawn anew only where it is something else.
function drawRollouts(view, group, place, arrived) {
  const moved = arrived || group !== list.chosen;
  list.chosen = group || null;
  drawFilters();
  refreshList();
  drawCount();
  if (moved && group) bringIntoSight(list.shown.indexOf(group));
  const version = [view, state.generation, group?.row, group?.rewards.length, place, group ? "" : state.total > 0].join("|");
  if (version === drawn.detail) return;
  drawn.detail = version;
  forgetFound();
  detail.replaceChildren(detailOf(view, group, place));
  if (!arrived) detail.scrollTop = 0;
}

function detailOf(view, group, place) {
  if (view === "rollout" && group && place >= 0) return rolloutView(group, place);
  if (view !== "rollouts" && group) return groupView(group);
  return el("section.detail.none", null, el("p.empty", null, hintOfList(view)));
}

function hintOfList(view) {
  if (view !== "rollouts") return "This group is not in the file, or not read yet.";
  if (state.total) return "Choose a group: the rollouts of one prompt, side by side.";
  return `No rollouts yet: ${state.run.trajectories} is empty or missing.`;
}

function drawTop(view) {
  const tab = (name, text) => el("a", { href: `#${name}`, "aria-current": (name === view || (name === "rollouts" && ["group", "rollout"].includes(view))) && "page" }, text);
  const top = document.getElementById("top");
  if (top.dataset.shown !== view) {
    top.dataset.shown = view;
    const theme = document.documentElement.dataset.theme || "auto";
    top.replaceChildren(
      el("h1", null, state.run.title),
      el("nav", { "aria-label": "Views" }, tab("curves", "Curves"), tab("rollouts", "Rollouts"), tab("run", "Run")),
      status,
      select("Theme", Object.entries(THEMES), theme, chooseTheme),
    );
  }
  status.textContent = statusText();
}

function statusText() {
  const { done, size, unreadable, torn } = state.progress;
  const told = [counted(state.rollouts, "rollout")];
  if (state.lost) told.push("the viewer has ended: what is loaded stays readable");
  else if (done < size && !torn) told.push(`reading ${Math.floor((done / size) * 100)}% of ${bytes(size)}`);
  else if (!source.live && state.groups.length < state.total) told.push(`${whole(state.groups.length)} of ${whole(state.total)} groups in this file`);
  if (unreadable) told.push(counted(unreadable, "unreadable line"));
  if (torn) told.push("the last line is not complete");
  return told.join(", ");
}

function chooseTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("agentic_rl_theme", theme);
  } catch {
    // a file opened from disk may have no storage
  }
}

function keptTheme() {
  try {
    return localStorage.getItem("agentic_rl_theme") || "auto";
  } catch {
    return "auto";
  }
}

function openGroup(group, { quietly = false } = {}) {
  if (!group) return;
  const address = `#group/${nameOf(group)}`;
  if (quietly) {
    history.replaceState(null, "", address);
    draw();
  } else location.hash = address;
}

function openRollout(group, place) {
  location.hash = `#rollout/${nameOf(group)}.${group.samples[place]}`;
}

function openStep(step) {
  Object.assign(state.filter, { first: String(step), last: String(step) });
  filters.names = "";
  filters.open = true;
  location.hash = "#rollouts";
}

async function followGroups() {
  for (;;) {
    let wait = 0;
    try {
      const start = Math.max(0, state.groups.length - 1);
      const answer = await source.groups(start);
      const anew = answer.generation !== state.generation;
      state.lost = false;
      if (takeListing(answer)) draw();
      const reading = answer.progress.done < answer.progress.size && !answer.progress.torn;
      if (!anew && state.groups.length >= answer.total) wait = reading ? 300 : 2000;
    } catch {
      state.lost = true;
      draw();
      wait = 3000;
    }
    if (!source.live) return;
    if (wait) await pause(wait);
  }
}

async function followCurves() {
  do {
    try {
      const answer = await source.curves();
      if (answer.revision !== state.curvesRevision) {
        Object.assign(state, { curves: answer.curves, curvesRevision: answer.revision });
        draw();
      }
    } catch {
      // followGroups tells that the viewer has ended
    }
    if (source.live) await pause(4000);
  } while (source.live);
}

// A page in the background asks for nothing until it is looked at again.
async function pause(milliseconds) {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  if (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

async function begin() {
  chooseTheme(keptTheme());
  state.run = await source.run();
  document.title = `${state.run.title} · agentic_rl`;
  watchTokens();
  addEventListener("hashchange", draw);
  draw();
  followCurves();
  followGroups();
}

begin().catch((error) => main.replaceChildren(el("p.empty", null, error.message)));
