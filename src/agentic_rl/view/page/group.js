// A group: the rollouts of one prompt side by side.

let columnOrder = "sample";

function groupView(group) {
  const columns = el("div.columns");
  const prompt = el("div.prompt");
  const fill = () => columns.replaceChildren(...ordered(group).map((place) => column(group, place, prompt)));
  fill();
  const order = choice("Order of the rollouts", [["sample", "as sampled"], ["reward", "by reward"]], columnOrder, (chosen) => {
    columnOrder = chosen;
    redraw();
  });
  return el(
    "section.detail",
    { "aria-label": "Group" },
    el("div.bar", null, el("a.back.narrow", { href: "#rollouts" }, "‹ Groups"), el("h2", null, `Step ${whole(group.step)}, prompt ${group.idx}`), sourceBadge(group), order, neighbours(group)),
    el("p.note", null, ...summaryOf(group)),
    legendOfTokens(),
    prompt,
    columns,
  );
}

function summaryOf(group) {
  const failed = group.failed.filter(Boolean).length;
  const told = [counted(group.rewards.length, "rollout"), `mean reward ${short(group.mean)}`];
  if (group.rewards.length > 1) told.push(group.spread ? `from ${short(Math.min(...group.known))} to ${short(Math.max(...group.known))}` : "all rewards equal: nothing is learned from this group");
  if (failed) told.push(`${failed} failed`);
  if (group.computed) told.push("advantages computed from the rewards");
  return [told.join(", ")];
}

function sourceBadge(group) {
  const source = state.sources[group.source];
  return source ? el("span.badge", null, source) : null;
}

function ordered(group) {
  const places = group.rewards.map((_, place) => place);
  if (columnOrder === "reward") places.sort((a, b) => (group.rewards[b] ?? -Infinity) - (group.rewards[a] ?? -Infinity));
  return places;
}

function neighbours(group) {
  const shown = shownGroups();
  const place = shown.indexOf(group);
  const step = (by, text) => button(text, () => openGroup(shown[place + by]), { disabled: place < 0 || !shown[place + by] });
  return el("div.choice", { role: "group", "aria-label": "Other groups" }, step(-1, "Previous"), step(1, "Next"));
}

function column(group, place, prompt) {
  const body = el("div.column-body", null, el("p.empty", null, "…"));
  const hit = state.hits && state.hits.includes(group.row + place);
  const card = el(`article.column${hit ? ".hit" : ""}`, { "aria-label": `Rollout ${group.samples[place]}` }, columnHead(group, place), body);
  onApproach(card, async () => {
    try {
      const rollout = await source.rollout(group.row + place, true);
      const skip = openingLength(rollout);
      if (!prompt.childElementCount && skip) {
        prompt.append(...rollout.messages.slice(0, skip).map((message) => messageCard(message, null)));
        markFound(prompt);
      }
      body.replaceChildren(conversation(rollout, skip));
      markFound(body);
      card.querySelector(".length").textContent = lengths(rollout);
    } catch (error) {
      body.replaceChildren(el("p.empty", null, error.message));
    }
  });
  return card;
}

function columnHead(group, place) {
  const finish = state.finishes[group.finishes[place]];
  const failed = group.failed[place];
  return el(
    "header.column-head",
    null,
    el("a", { href: `#rollout/${nameOf(group)}.${group.samples[place]}`, title: "Open this rollout alone" }, `Rollout ${group.samples[place]}`),
    rewardPill(group.rewards[place]),
    el(`span.advantage${group.advantages[place] > 0 ? ".up" : group.advantages[place] < 0 ? ".down" : ""}`, { title: "advantage" }, signed(group.advantages[place])),
    failed ? el("span.badge.bad", null, "failed") : finish && finish !== "done" && el("span.badge.warn", null, finish),
    el("span.note.length"),
  );
}

function rewardPill(reward) {
  return el(`span.pill.r${rewardClass(reward)}`, { title: "reward" }, short(reward));
}

// From 0, the run's lowest reward, to 4, its highest.
function rewardClass(reward) {
  return reward === null || reward === undefined ? "none" : Math.round(share(reward, state.lowest, state.highest) * 4);
}

function lengths(rollout) {
  const part = rollout.parts[rollout.parts.length - 1];
  if (!part) return "";
  const turns = rollout.parts.reduce((sum, one) => sum + one.turns.length, 0);
  return `${counted(part.length, "token")}, ${counted(turns, "turn")}`;
}

// How many messages come before the first that the policy wrote.
function openingLength(rollout) {
  const written = rollout.messages.findIndex((message) => message.turn || message.role === "assistant");
  return written < 0 ? rollout.messages.length : written;
}
