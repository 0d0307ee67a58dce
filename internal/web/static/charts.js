// The drawings of Details: the map of the last episode, how sure answers are, and how the objective falls.
import { badge, draw, el, held, percent, slot } from "./parts.js";

const path = (points) => points.map(([x, y], i) => (i ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1)).join("");
const empty = (host, text) => host.replaceChildren(el("p", { class: "soft" }, text));

// ticks are three to six round numbers within a range.
function ticks(low, high) {
  const rough = (high - low) / 4 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const out = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) out.push(t);
  return out;
}

// onResize draws again when the host has another width, so that letters keep their size.
function onResize(host, draw) {
  let width = host.clientWidth;
  new ResizeObserver(() => {
    if (!host.clientWidth || host.clientWidth === width) return;
    width = host.clientWidth;
    draw();
  }).observe(host);
}

// axis is the name of an axis, along the bottom or, upright, at the left.
const axis = (x, y, text, upright = false) =>
  draw("text", { class: "axis", x, y, "text-anchor": "middle", ...(upright && { transform: `rotate(-90 ${x} ${y})` }) }, text);

const margin = 18;

// EpisodeMap draws the items of an episode in the plane, and the graph that ties neighbours together.
export class EpisodeMap {
  #host; #keys; #open; #episode = null;

  constructor(host, keys, open) {
    this.#host = host;
    this.#keys = keys;
    this.#open = open;
    empty(host, "waiting for the first episode");
    onResize(host, () => this.#draw());
  }

  show(episode) {
    if (held(this.#host)) return; // someone is looking closely
    this.#episode = episode;
    this.#draw();
  }

  #draw() {
    const episode = this.#episode;
    if (!episode || !this.#host.clientWidth) return;
    const width = this.#host.clientWidth, height = Math.min(340, Math.max(240, 0.6 * width));
    const items = episode.items;
    const xs = items.map((item) => item.x), ys = items.map((item) => item.y);
    const span = (values) => [Math.min(...values), Math.max(...values) - Math.min(...values) || 1];
    const [x0, dx] = span(xs), [y0, dy] = span(ys);
    const x = (item) => margin + ((width - 2 * margin) * (item.x - x0)) / dx;
    const y = (item) => margin + ((height - 2 * margin) * (item.y - y0)) / dy;
    const drawing = draw("svg", { viewBox: `0 0 ${width} ${height + 18}`, role: "img" });
    drawing.setAttribute("aria-label", `Map of episode ${episode.episode}: ${items.length} items, ${(episode.edges || []).length} edges`);
    for (const [a, b] of episode.edges || []) {
      if (items[a] && items[b]) drawing.append(draw("line", { class: "edge", x1: x(items[a]), y1: y(items[a]), x2: x(items[b]), y2: y(items[b]) }));
    }
    drawing.append(draw("text", { class: "axis", x: width / 2, y: height + 14, "text-anchor": "middle" }, "first principal component"),
      draw("text", { class: "axis", x: 9, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 9 ${height / 2})` }, "second"));
    const counts = new Map();
    for (const item of items) {
      counts.set(item.label, (counts.get(item.label) || 0) + 1);
      const node = shape(item, x(item), y(item));
      node.append(draw("title", {}, item.unknown ? `no name, nearest ${item.label}` : `${item.label}, ${percent(item.confidence)} sure`));
      node.addEventListener("click", () => this.#open(item));
      drawing.append(node);
    }
    this.#host.replaceChildren(drawing);
    const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 10);
    this.#keys.replaceChildren(...most.map(([label, n]) => el("span", {}, badge(label), `${label} ${n}`)));
  }
}

// shape is the mark of an item's name: a circle, a square or a hexagon in its colour.
function shape(item, x, y) {
  const n = slot(item.label), attributes = { class: `node c${n}`, fill: "var(--c)", stroke: "var(--surface)", "fill-opacity": item.unknown ? 0.35 : 1 };
  if (n % 3 === 0) return draw("circle", { ...attributes, cx: x, cy: y, r: 5 });
  if (n % 3 === 1) return draw("rect", { ...attributes, x: x - 4.5, y: y - 4.5, width: 9, height: 9, rx: 2 });
  return draw("path", { ...attributes, d: `M${x} ${y - 6}l5.2 3v6l-5.2 3-5.2-3v-6z` });
}

// SureChart draws how many answers are sure against how many of these are wrong, by items that people labelled.
export class SureChart {
  #host;
  #points = [];
  #most = 0;

  constructor(host) {
    this.#host = host;
    onResize(host, () => this.#draw());
  }

  show(points, most) {
    this.#points = points;
    this.#most = most;
    if (points.length) this.#draw();
    else empty(this.#host, "no item was labelled since the stream began: nothing is known to be sure");
  }

  #draw() {
    if (!this.#points.length || !this.#host.clientWidth) return;
    const width = this.#host.clientWidth, height = 190, left = 58, right = 20, top = 12, bottom = 40;
    const high = Math.min(1, 1.15 * Math.max(2 * this.#most, ...this.#points.map(([, wrong]) => wrong)));
    const x = (share) => left + (width - left - right) * share;
    const y = (wrong) => top + (height - top - bottom) * (1 - wrong / high);
    const percent = (part) => `${+(100 * part).toFixed(1)} %`;
    const drawing = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    const [share, wrong] = this.#points.findLast(([, wrong]) => wrong <= this.#most) || [0, 0];
    drawing.setAttribute("aria-label", `Of the surest ${percent(share)} of the answers to labelled items ${percent(wrong)} were wrong; at most ${percent(this.#most)} may be`);
    for (const t of ticks(0, high)) {
      drawing.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }),
        draw("text", { x: left - 8, y: y(t) + 4, "text-anchor": "end" }, percent(t)));
    }
    for (const t of [0, .5, 1]) drawing.append(draw("text", { x: x(t), y: height - 22, "text-anchor": "middle" }, percent(t)));
    drawing.append(draw("line", { class: "cross", x1: left, x2: width - right, y1: y(this.#most), y2: y(this.#most) }),
      draw("text", { class: "value", x: left + 6, y: y(this.#most) - 5 }, `at most ${percent(this.#most)} wrong`),
      draw("path", { class: "curve", d: path(this.#points.map(([share, wrong]) => [x(share), y(wrong)])), stroke: "var(--accent)" }),
      draw("circle", { cx: x(share), cy: y(wrong), r: 3.5, fill: "var(--accent)" }),
      axis((left + width - right) / 2, height - 6, "called sure, the surest first"), axis(12, (top + height - bottom) / 2, "wrong of these", true));
    this.#host.replaceChildren(drawing);
  }
}

export class ObjectiveChart {
  #host;
  #traces = [];

  constructor(host) {
    this.#host = host;
    empty(host, "waiting for the first episode");
    onResize(host, () => this.draw());
  }

  take(trace) {
    if (!trace || trace.length < 2) return;
    this.#traces.push(trace);
    if (this.#traces.length > 14) this.#traces.shift();
  }

  draw() {
    if (this.#traces.length === 0 || !this.#host.clientWidth) return;
    const trace = this.#traces[this.#traces.length - 1];
    const width = this.#host.clientWidth, height = 190, left = 72, right = 74, top = 12, bottom = 40;
    const [first, last] = [trace[0], trace[trace.length - 1]];
    const steps = Math.max(...this.#traces.map((t) => t.length)) - 1;
    // Earlier episodes are drawn by how far they fell in all, so that only the shape is compared.
    const fall = first - last || 1;
    const low = last - 0.06 * Math.abs(fall), high = first + 0.06 * Math.abs(fall);
    const x = (i) => left + ((width - left - right) * i) / steps;
    const y = (v) => top + ((height - top - bottom) * (high - v)) / (high - low);
    const drawing = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    drawing.setAttribute("aria-label", `The objective fell from ${first.toFixed(1)} to ${last.toFixed(1)} in ${trace.length - 1} steps`);
    for (const t of ticks(low, high)) {
      drawing.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }),
        draw("text", { x: left - 8, y: y(t) + 4, "text-anchor": "end" }, t.toLocaleString(undefined, { maximumFractionDigits: 1 })));
    }
    for (const earlier of this.#traces.slice(0, -1)) {
      const [a, b] = [earlier[0], earlier[earlier.length - 1]];
      const scale = a === b ? 0 : fall / (a - b);
      drawing.append(draw("path", { class: "earlier", d: path(earlier.map((v, i) => [x(i), y(last + (v - b) * scale)])) }));
    }
    drawing.append(draw("path", { class: "curve", d: path(trace.map((v, i) => [x(i), y(v)])), stroke: "var(--accent)" }),
      draw("circle", { cx: x(trace.length - 1), cy: y(last), r: 3.5, fill: "var(--accent)" }),
      draw("text", { class: "value", x: x(trace.length - 1) + 8, y: y(last) + 4 }, last.toFixed(1)),
      draw("text", { x: left, y: height - 22 }, steps > 1 ? "0" : "before"),
      draw("text", { x: width - right, y: height - 22, "text-anchor": "end" }, steps > 1 ? String(steps) : "after"),
      axis((left + width - right) / 2, height - 6, "steps of the descent"), axis(12, (top + height - bottom) / 2, "objective R", true));
    this.#host.replaceChildren(drawing);
  }
}
