// Elements. Texts only ever become text nodes: nothing in this page parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function el(name, properties, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties || {})) set(element, key, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function set(element, key, value) {
  if (value === null || value === undefined || value === false) return;
  if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
  else if (key in element && !key.startsWith("aria") && key !== "list") element[key] = value;
  else element.setAttribute(key, value === true ? "" : value);
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function button(text, onclick, properties) {
  return el("button", { type: "button", onclick, ...properties }, text);
}

// One choice of several, as buttons of which one is pressed.
function choice(label, options, chosen, onchoose) {
  const buttons = options.map(([value, text]) =>
    button(text, () => onchoose(value), { "aria-pressed": String(value === chosen) }),
  );
  return el("div.choice", { role: "group", "aria-label": label }, ...buttons);
}

function select(label, options, chosen, onchoose) {
  const list = el(
    "select",
    { onchange: (event) => onchoose(event.target.value) },
    ...options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)),
  );
  return el("label.field", null, el("span", null, label), list);
}

// Calls `draw` with the width of an element, now and whenever it changes.
function onWidth(element, draw) {
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now !== width && now > 0) draw((width = now));
  }).observe(element);
}

// Calls `begin` when an element comes near the visible part of the page, once.
function onApproach(element, begin) {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      begin();
    },
    { rootMargin: "600px" },
  );
  observer.observe(element);
}
