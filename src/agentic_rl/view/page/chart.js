// A chart of one or more curves over the steps, drawn at the width that it has.

const MARGIN = { top: 8, right: 10, bottom: 20, left: 46 };

// curves: [{name, steps, values, kind: "line" | "faint" | "points"}]; onpick(step) is called for a click.
function chart(curves, height, label, onpick) {
  const readout = el("output.readout");
  const frame = el("div.chart", { tabIndex: 0, role: "img", "aria-label": label });
  let geometry = null;
  let at = null;
  const steps = [...new Set(curves.flatMap((curve) => curve.steps))].sort((a, b) => a - b);

  const show = (step) => {
    at = step;
    frame.querySelector(".cursor")?.remove();
    if (step === null) return void (readout.textContent = "");
    frame.firstChild.append(cursor(geometry, curves, step));
    readout.textContent = `step ${whole(step)}  ${readings(curves, step)}`;
  };
  frame.addEventListener("pointermove", (event) => {
    const x = event.clientX - frame.getBoundingClientRect().left;
    show(nearest(steps, geometry.step(x)));
  });
  frame.addEventListener("pointerleave", () => show(null));
  frame.addEventListener("blur", () => show(null));
  frame.addEventListener("click", () => at !== null && onpick && onpick(at));
  frame.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Enter" && at !== null && onpick) onpick(at);
    if (!move) return;
    event.preventDefault();
    const place = at === null ? (move > 0 ? -1 : steps.length) : steps.indexOf(at);
    show(steps[Math.min(steps.length - 1, Math.max(0, place + move))]);
  });
  onWidth(frame, (width) => {
    geometry = scales(curves, steps, width, height);
    frame.replaceChildren(pictureOf(geometry, curves, width, height));
  });
  return { frame, readout };
}

function scales(curves, steps, width, height) {
  const values = curves.flatMap((curve) => curve.values);
  const ticks = niceTicks(Math.min(...values), Math.max(...values), height > 160 ? 5 : 3);
  const [low, high] = [ticks[0], ticks[ticks.length - 1]];
  const [first, last] = [steps[0], steps[steps.length - 1]];
  const inner = width - MARGIN.left - MARGIN.right;
  const tall = height - MARGIN.top - MARGIN.bottom;
  return {
    ticks,
    first,
    last,
    x: (step) => MARGIN.left + (last > first ? ((step - first) / (last - first)) * inner : inner / 2),
    y: (value) => MARGIN.top + (1 - share(value, low, high)) * tall,
    step: (x) => first + ((x - MARGIN.left) / inner) * (last - first),
    bottom: MARGIN.top + tall,
  };
}

function pictureOf(geometry, curves, width, height) {
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  for (const tick of geometry.ticks) {
    const y = geometry.y(tick);
    picture.append(
      svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y }),
      svg("text", { class: "tick end", x: MARGIN.left - 6, y: y + 4 }, short(tick)),
    );
  }
  for (const step of stepTicks(geometry, width)) {
    const side = step === geometry.first ? "" : step === geometry.last ? " end" : " middle";
    picture.append(svg("text", { class: `tick${side}`, x: geometry.x(step), y: height - 4 }, whole(step)));
  }
  curves.forEach((curve, number) => picture.append(...drawnCurve(geometry, curve, number)));
  return picture;
}

// The first and the last step, and round ones between them where there is room.
function stepTicks({ first, last }, width) {
  if (last === first) return [first];
  const room = (last - first) / Math.max(1, width / 90);
  const between = niceTicks(first, last, Math.min(6, width / 120)).filter(
    (step) => Number.isInteger(step) && step - first > room && last - step > room,
  );
  return [first, ...between, last];
}

function drawnCurve(geometry, curve, number) {
  const places = curve.steps.map((step, place) => [geometry.x(step), geometry.y(curve.values[place])]);
  const colour = `series${curve.colour ?? number}`;
  const line = svg("polyline", {
    class: `${curve.kind} ${colour}`,
    points: places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" "),
  });
  const dots = curve.kind === "points" || places.length === 1 ? places : [];
  return [line, ...dots.map(([x, y]) => svg("circle", { class: colour, cx: x, cy: y, r: 4 }))];
}

function cursor(geometry, curves, step) {
  const x = geometry.x(step);
  const marks = curves.flatMap((curve, number) => {
    const place = curve.steps.indexOf(step);
    const at = { cx: x, cy: geometry.y(curve.values[place]), r: 3.5, class: `series${curve.colour ?? number}` };
    return place < 0 || curve.kind === "faint" ? [] : [svg("circle", at)];
  });
  return svg("g", { class: "cursor" }, svg("line", { x1: x, x2: x, y1: MARGIN.top, y2: geometry.bottom }), ...marks);
}

function readings(curves, step) {
  const told = [];
  for (const curve of curves) {
    const place = curve.steps.indexOf(step);
    if (place >= 0) told.push(curves.length > 1 ? `${curve.name} ${short(curve.values[place])}` : short(curve.values[place]));
  }
  return told.join("  ");
}

function nearest(steps, wanted) {
  let best = steps[0];
  for (const step of steps) if (Math.abs(step - wanted) < Math.abs(best - wanted)) best = step;
  return best;
}

// Round numbers that enclose the values.
function niceTicks(low, high, count) {
  if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const ticks = [];
  for (let place = Math.floor(low / unit + 1e-9); place <= Math.ceil(high / unit - 1e-9); place += 1) ticks.push(place * unit);
  return ticks;
}

// The moving average of a curve, with its beginning not pulled to 0.
function smoothed(values, weight) {
  let total = 0;
  let norm = 0;
  return values.map((value) => {
    total = weight * total + (1 - weight) * value;
    norm = weight * norm + (1 - weight);
    return total / norm;
  });
}
