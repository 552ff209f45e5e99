// Numbers and texts as people read them.

const MINUS = "\u2212";

function signed(value) {
  if (value === null || value === undefined) return "\u2013";
  const text = Math.abs(value).toFixed(2);
  return Number(text) === 0 ? "0.00" : (value < 0 ? MINUS : "+") + text;
}

function short(value) {
  if (value === null || value === undefined) return "\u2013";
  const size = Math.abs(value);
  let text;
  if (size === 0) text = "0";
  else if (size >= 1e6) text = `${trimmed((size / 1e6).toFixed(2))}M`;
  else if (size >= 1e4) text = `${trimmed((size / 1e3).toFixed(1))}k`;
  else if (size >= 100) text = trimmed(size.toFixed(1));
  else if (size >= 0.001) text = trimmed(size.toPrecision(3));
  else text = size.toExponential(1);
  return value < 0 ? MINUS + text : text;
}

function trimmed(text) {
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

function whole(value) {
  return value.toLocaleString("en-US");
}

function bytes(count) {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} GB`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)} MB`;
  return count >= 1e3 ? `${(count / 1e3).toFixed(0)} kB` : `${count} bytes`;
}

function counted(count, one, many) {
  return `${whole(count)} ${count === 1 ? one : many || `${one}s`}`;
}

function known(values) {
  return values.filter((value) => value !== null);
}

function mean(values) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

// Where a value lies between two others, from 0 to 1.
function share(value, low, high) {
  return high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 1;
}
