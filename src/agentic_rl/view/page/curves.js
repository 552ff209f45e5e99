// The run's measurements: learning first, everything else as small charts.

const SMOOTHING = 0.7;
const FIRST = ["reward", "eval", "response_length", "turns", "policy", "sft", "rollout", "time"];
let curveFilter = "";

const curvesPage = {
  box: el("section.page"),
  top: el("div.page-top"),
  small: el("div.small-charts"),
  revision: null,
};
const curveField = el("input", {
  type: "search",
  placeholder: "e.g. policy/",
  oninput: (event) => {
    curveFilter = event.target.value;
    curvesPage.small.replaceChildren(...smallCharts());
  },
});
curvesPage.bar = el("div.bar", null, el("h2", null, "All measurements"), el("label.field", null, el("span", null, "Filter"), curveField));

// Draws the curves where they have changed; the field keeps its text and the page its place.
function drawCurves() {
  if (curvesPage.revision === state.curvesRevision && curvesPage.box.childElementCount) return;
  curvesPage.revision = state.curvesRevision;
  if (!state.curves.length) {
    const nothing = "No measurements yet: metrics.jsonl is empty or missing. They appear here as soon as a step is done.";
    return curvesPage.box.replaceChildren(el("p.empty", null, nothing));
  }
  if (curvesPage.top.parentNode !== curvesPage.box) curvesPage.box.replaceChildren(curvesPage.top, curvesPage.bar, curvesPage.small);
  curvesPage.top.replaceChildren(...[headline(), heroChart()].filter(Boolean));
  curvesPage.small.replaceChildren(...smallCharts());
}

function curveNamed(name) {
  return state.curves.find((curve) => curve.name === name);
}

function headline() {
  const facts = [
    ["Training reward", curveNamed("reward/mean")],
    ["Held-out reward", curveNamed("eval/reward")],
    ["Response tokens", curveNamed("response_length/mean")],
    ["Tokens per second", curveNamed("rollout/tokens_per_second")],
  ].filter(([, curve]) => curve);
  return el(
    "dl.facts",
    null,
    ...facts.map(([name, curve]) => {
      const last = curve.values.length - 1;
      const since = `at step ${whole(curve.steps[last])}, first ${short(curve.values[0])}`;
      return el("div", null, el("dt", null, name), el("dd", null, short(curve.values[last])), el("dd.note", null, since));
    }),
  );
}

function heroChart() {
  const [training, heldOut] = [curveNamed("reward/mean"), curveNamed("eval/reward")];
  const curves = [];
  if (training) {
    const smooth = smoothed(training.values, SMOOTHING);
    curves.push({ ...training, name: "training", kind: "faint", colour: 0 });
    curves.push({ ...training, name: "smoothed", values: smooth, kind: "line", colour: 0 });
  }
  if (heldOut) curves.push({ ...heldOut, name: "held-out", kind: "points", colour: 1 });
  if (!curves.length) return null;
  const { frame, readout } = chart(curves, 260, `Reward. ${told(curves)}`, openStep);
  const legend = el("p.legend", null, el("span.key0", null, "training, sampled"), heldOut && el("span.key1", null, "held-out, greedy"));
  const hint = el("p.note", null, "Click a step, or press Enter on it, to read its rollouts.");
  return el("figure.card", null, el("figcaption", null, el("h2", null, "Reward"), legend, readout), frame, hint);
}

function smallCharts() {
  const wanted = curveFilter.trim().toLowerCase();
  const shown = state.curves.filter((curve) => curve.name.toLowerCase().includes(wanted)).sort(byFamily);
  if (!shown.length) return [el("p.empty", null, `No measurement has “${curveFilter}” in its name.`)];
  return shown.map((curve) => {
    const card = el("figure.card.small");
    onApproach(card, () => {
      const pick = curve.phase === "training" ? openStep : null;
      const { frame, readout } = chart([{ ...curve, kind: "line" }], 120, `${curve.name}. ${told([curve])}`, pick);
      const last = el("span.last", null, short(curve.values[curve.values.length - 1]));
      card.replaceChildren(el("figcaption", null, el("h3", null, curve.name), last, readout), frame);
    });
    return card;
  });
}

function byFamily(a, b) {
  return family(a) - family(b) || a.name.localeCompare(b.name);
}

function family(curve) {
  const place = FIRST.indexOf(curve.name.split("/")[0]);
  return place < 0 ? FIRST.length : place;
}

function told(curves) {
  return curves
    .filter((curve) => curve.kind !== "faint")
    .map(({ name, steps, values }) => {
      const last = values.length - 1;
      return `${name}: ${short(values[0])} at step ${steps[0]} to ${short(values[last])} at step ${steps[last]}`;
    })
    .join("; ");
}
