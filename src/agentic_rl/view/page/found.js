// Where the text that is searched for stands, marked without changing the elements.

const FOUND = "found";
const MARKS = 500;

function markFound(box) {
  const wanted = state.filter.text.toLowerCase();
  if (!wanted || !globalThis.CSS?.highlights) return;
  if (!CSS.highlights.has(FOUND)) CSS.highlights.set(FOUND, new Highlight());
  const marks = CSS.highlights.get(FOUND);
  for (const range of rangesOf(box, wanted)) if (marks.size < MARKS) marks.add(range);
}

function forgetFound() {
  globalThis.CSS?.highlights?.delete(FOUND);
}

// A text may go over several elements, as tokens are.
function rangesOf(box, wanted) {
  const nodes = [];
  const starts = [];
  let text = "";
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    nodes.push(walker.currentNode);
    starts.push(text.length);
    text += walker.currentNode.data;
  }
  const lowered = text.toLowerCase();
  if (lowered.length !== text.length) return []; // a few letters change their length: places would be wrong
  const ranges = [];
  for (let at = lowered.indexOf(wanted); at >= 0 && ranges.length < MARKS; at = lowered.indexOf(wanted, at + wanted.length)) {
    ranges.push(rangeOf(nodes, starts, at, at + wanted.length));
  }
  return ranges;
}

function rangeOf(nodes, starts, from, to) {
  const range = new Range();
  const first = nodeAt(starts, from);
  const last = nodeAt(starts, to - 1);
  range.setStart(nodes[first], from - starts[first]);
  range.setEnd(nodes[last], to - starts[last]);
  return range;
}

// The last node that begins at `place` or before it.
function nodeAt(starts, place) {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
