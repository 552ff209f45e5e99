// Tokens: those of the policy marked, and coloured by how probable they were when they were sampled.

const PROBABILITIES = [0.9, 0.5, 0.2, 0.05, 0.01];
const TOKENS_AT_ONCE = 1500;

function bucket(logprob) {
  const probability = Math.exp(logprob);
  const place = PROBABILITIES.findIndex((bound) => probability >= bound);
  return place < 0 ? PROBABILITIES.length : place;
}

function legendOfTokens() {
  const texts = ["≥ 0.9", "0.5", "0.2", "0.05", "0.01", "less"];
  return el(
    "p.legend.tokens-legend",
    null,
    el("span", null, "Probability of the policy’s tokens:"),
    ...texts.map((text, place) => el(`span.token.own.p${place}`, null, text)),
  );
}

// The tokens [start, stop) of a part's response, a slice at a time.
function tokenRun(part, start, stop) {
  const box = el("div.tokens");
  appendTokens(box, part, start, Math.min(stop, part.ids.length), (place) => inTurn(part, place));
  if (stop > part.ids.length) box.append(el("span.cut", null, ` … ${counted(stop - part.ids.length, "more token")}`));
  return box;
}

function appendTokens(box, part, start, stop, own) {
  const end = Math.min(stop, start + TOKENS_AT_ONCE);
  const made = document.createDocumentFragment();
  for (let place = start; place < end; place += 1) made.append(token(part, place, own(place)));
  box.append(made);
  if (end === stop) return;
  const more = button(`show ${counted(stop - end, "more token")}`, () => {
    more.remove();
    appendTokens(box, part, end, stop, own);
  });
  box.append(more);
}

function token(part, place, own) {
  const text = part.texts ? part.texts[place] : ` ${part.ids[place]}`;
  const logprob = own && part.logprobs ? part.logprobs[place] : null;
  const colour = own ? `.own${logprob === null ? "" : `.p${bucket(logprob)}`}` : "";
  const element = el(`span.token${colour}`, null, visible(text));
  element.dataset.id = part.ids[place];
  if (logprob !== null) element.dataset.logprob = logprob;
  return element;
}

// Line ends and empty tokens with something to see.
function visible(text) {
  if (text === "") return "\u00b7";
  return text.replace(/\r/g, "␍").replace(/\n/g, "↵\n");
}

function inTurn(part, place) {
  return part.turns.some(([start, stop]) => place >= start && place < stop);
}

// All tokens of a part: its prompt, then what was written and what was shown.
function wholePart(part, number, of) {
  const prompt = part.prompt;
  const box = el("div.tokens");
  const opening = { ids: prompt.ids, texts: prompt.texts, logprobs: null };
  const missing = prompt.length - prompt.ids.length;
  if (missing) box.append(el("span.cut", null, `${counted(missing, "earlier token")} … `));
  appendTokens(box, opening, 0, prompt.ids.length, () => false);
  const response = el("div.tokens");
  appendTokens(response, part, 0, part.ids.length, (place) => inTurn(part, place));
  if (part.length > part.ids.length) response.append(el("span.cut", null, ` … ${counted(part.length - part.ids.length, "more token")}`));
  const written = part.turns.reduce((sum, [start, stop]) => sum + stop - start, 0);
  const title = of > 1 ? `Sequence ${number + 1} of ${of}: ` : "";
  return el(
    "section.card",
    null,
    el("h3", null, `${title}${counted(prompt.length, "token")} of prompt`),
    box,
    el("h3", null, `${counted(part.length, "token")} after it, ${whole(written)} of them the policy’s`),
    response,
  );
}

// One box for all tokens: it tells of the one under the pointer.
const tip = el("div.tip", { role: "status", hidden: true });

function watchTokens() {
  document.body.append(tip);
  const tell = (event) => {
    const target = event.target instanceof Element ? event.target.closest(".token[data-id]") : null;
    tip.hidden = !target;
    if (!target) return;
    const { id, logprob } = target.dataset;
    const probability = logprob === undefined ? "" : `p ${short(Math.exp(logprob))}, log p ${Number(logprob).toFixed(3).replace("-", MINUS)}, `;
    tip.textContent = `${probability}token ${id}${target.classList.contains("own") ? "" : ", shown to the policy"}`;
    const box = target.getClientRects()[0];
    tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${box.top > 48 ? box.top - tip.offsetHeight - 6 : box.bottom + 6}px`;
  };
  document.addEventListener("pointerover", tell);
  document.addEventListener("click", tell);
  document.addEventListener("scroll", () => (tip.hidden = true), { capture: true, passive: true });
}
