// One rollout, whole.

let rolloutTab = "conversation";

function rolloutView(group, place) {
  const row = group.row + place;
  const body = el("div.whole", null, el("p.empty", null, "…"));
  const tabs = choice("View", [["conversation", "Conversation"], ["tokens", "Tokens"]], rolloutTab, (chosen) => {
    rolloutTab = chosen;
    redraw();
  });
  const facts = el("dl.facts");
  source.rollout(row, false).then(
    (rollout) => {
      facts.replaceChildren(...rolloutFacts(group, place, rollout));
      body.replaceChildren(...(rolloutTab === "tokens" ? tokensOf(rollout) : [conversation(rollout, 0)]));
      markFound(body);
    },
    (error) => body.replaceChildren(el("p.empty", null, error.message)),
  );
  const line = source.live && el("a", { href: `/line?row=${row}`, download: `rollout-${nameOf(group)}.${group.samples[place]}.json` }, "Save its line");
  return el(
    "section.detail",
    { "aria-label": "Rollout" },
    el(
      "div.bar",
      null,
      el("a.back", { href: `#group/${nameOf(group)}` }, `‹ Step ${whole(group.step)}, prompt ${group.idx}`),
      el("h2", null, `Rollout ${group.samples[place]}`),
      sourceBadge(group),
      tabs,
      siblings(group, place),
      line,
    ),
    facts,
    legendOfTokens(),
    body,
  );
}

function tokensOf(rollout) {
  const notes = state.run.vocabulary
    ? []
    : [el("p.note", null, "The run’s tokenizer was not found, so tokens are shown by number: agentic-rl view RUN --tokenizer DIR.")];
  return [...notes, ...rollout.parts.map((part, number) => wholePart(part, number, rollout.parts.length))];
}

function rolloutFacts(group, place, rollout) {
  const part = rollout.parts[rollout.parts.length - 1];
  const facts = [
    ["Reward", rewardPill(group.rewards[place])],
    [group.computed ? "Advantage (computed)" : "Advantage", signed(group.advantages[place])],
    ["Ended by", state.finishes[group.finishes[place]] || "–"],
  ];
  if (part) {
    facts.push(["Prompt and response", `${whole(part.prompt.length)} + ${counted(part.length, "token")}`]);
    if (part.mean_logprob !== null) facts.push(["Mean log p", part.mean_logprob.toFixed(3).replace("-", MINUS)]);
  }
  if (rollout.parts.length > 1) facts.push(["Sequences", whole(rollout.parts.length)]);
  return facts.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value)));
}

function siblings(group, place) {
  const go = (by) => openRollout(group, place + by);
  const step = (by, text) => button(text, () => go(by), { disabled: group.samples[place + by] === undefined });
  return el("div.choice", { role: "group", "aria-label": "Other rollouts" }, step(-1, "Previous"), step(1, "Next"));
}
