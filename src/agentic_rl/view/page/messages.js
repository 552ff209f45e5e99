// A conversation as messages.

const FOLDED_ABOVE = 280; // letters of a tool's result
const FOLDED_SYSTEM = 160;

// What all rollouts of a group began with is shown once: `skip` messages are left out here.
function conversation(rollout, skip) {
  const part = rollout.parts[rollout.parts.length - 1];
  const messages = rollout.messages.slice(skip).map((message) => messageCard(message, part));
  if (rollout.error) messages.push(el("article.message.error", null, el("h4", null, "failed"), el("pre.text", null, rollout.error)));
  if (rollout.unreadable) messages.push(el("p.empty", null, `This line can’t be read: ${rollout.unreadable}`));
  if (!messages.length) messages.push(el("p.empty", null, "No messages were kept."));
  return el("div.conversation", null, ...messages);
}

function messageCard(message, part) {
  const role = ["system", "user", "assistant", "tool"].includes(message.role) ? message.role : "other";
  const heading = el("h4", null, message.name ? `${message.role} · ${message.name}` : message.role);
  const finish = message.finish_reason;
  if (finish && finish !== "stop" && finish !== "tool_calls") heading.append(el("span.badge.warn", null, finish));
  const body = message.turn && part && part.texts ? writtenBody(message, part) : [...plainBody(message), ...(message.calls || []).map(callCard)];
  return el(`article.message.${role}`, null, heading, ...body);
}

// A turn of the policy is shown as its tokens: they are what it wrote. Those of its tool calls are folded.
function writtenBody(message, part) {
  const [start, stop] = message.turn;
  if (!message.calls) return [tokenRun(part, start, stop)];
  const from = callsBegin(message, part);
  const calls = message.calls.map((call) => `${call.name}(${brief(call.arguments)})`).join(", ");
  const box = el("details.fold.call", null, el("summary", null, calls, leastProbable(part, from, stop)));
  box.addEventListener("toggle", () => box.open && box.childElementCount === 1 && box.append(tokenRun(part, from, stop)));
  return from > start ? [tokenRun(part, start, from), box] : [box];
}

// The first token after the text of a turn: there its tool calls begin.
function callsBegin(message, part) {
  const [start, stop] = message.turn;
  const text = message.text.trim();
  const whole = part.texts.slice(start, stop).join("");
  const end = text ? whole.indexOf(text) + text.length : 0;
  let place = start;
  for (let length = 0; place < stop && length < end; place += 1) length += part.texts[place].length;
  return place;
}

function leastProbable(part, start, stop) {
  const logprobs = part.logprobs ? part.logprobs.slice(start, stop) : [];
  if (!logprobs.length) return null;
  const lowest = Math.min(...logprobs);
  return el(`span.token.own.least.p${bucket(lowest)}`, { title: "probability of the least probable token in it" }, `p ${short(Math.exp(lowest))}`);
}

function plainBody(message) {
  const body = [];
  if (message.reasoning) body.push(folded("thinking", message.reasoning));
  if (message.role === "tool" && long(message.text, FOLDED_ABOVE)) body.push(folded(preview(message.text), message.text, message.letters));
  else if (message.role === "system" && long(message.text, FOLDED_SYSTEM)) body.push(folded(preview(message.text), message.text, message.letters));
  else if (message.text || !(message.calls || []).length) body.push(...textOf(message.text, message.letters));
  return body;
}

function long(text, letters) {
  return text.length > letters || text.split("\n").length > 8;
}

function preview(text) {
  const line = text.trim().split("\n", 1)[0].slice(0, 90);
  return `${line}${line.length < text.trim().length ? " …" : ""}  (${counted(text.length, "letter")})`;
}

function textOf(text, letters) {
  const shown = el("pre.text", null, text === "" ? el("span.note", null, "empty") : text);
  return letters ? [shown, el("p.cut", null, `… ${whole(letters - text.length)} of ${whole(letters)} letters are not shown here`)] : [shown];
}

function folded(summary, text, letters) {
  const box = el("details.fold", null, el("summary", null, summary));
  box.addEventListener("toggle", () => box.open && box.childElementCount === 1 && box.append(...textOf(text, letters)));
  return box;
}

function callCard(call) {
  return el("details.fold.call", null, el("summary", null, `${call.name}(${brief(call.arguments)})`), el("pre.text", null, indented(call.arguments)));
}

function brief(argumentsText) {
  const line = (named(argumentsText) ?? argumentsText).replace(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}

// {"a": 1, "b": "c"} as a=1, b="c".
function named(argumentsText) {
  if (argumentsText.length > 2000) return null;
  try {
    const parsed = JSON.parse(argumentsText);
    return Object.entries(parsed).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ");
  } catch {
    return null;
  }
}

function indented(argumentsText) {
  if (argumentsText.length > 100000) return argumentsText;
  try {
    return JSON.stringify(JSON.parse(argumentsText), null, 2);
  } catch {
    return argumentsText;
  }
}
