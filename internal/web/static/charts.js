// The curves: accuracy so far, and the objective within an episode.
import { empty, onResize, path, svg, ticks } from "./svg.js";

const colours = ["var(--accent)", "var(--fourth)", "var(--second)", "var(--third)"];

// axis is the name of an axis, along the bottom or, upright, at the left.
const axis = (x, y, text, upright = false) =>
  svg("text", { class: "axis", x, y, "text-anchor": "middle", ...(upright && { transform: `rotate(-90 ${x} ${y})` }) }, text);

export class AccuracyChart {
  #host;
  #points = [];

  constructor(host) {
    this.#host = host;
    empty(host, "waiting for the first episode");
    onResize(host, () => this.#draw());
  }

  replace(points) {
    this.#points = points.map((p) => ({ after: p.after, scores: p.scores }));
    this.#draw();
  }

  add(scores) {
    const after = scores[0].all;
    const last = this.#points[this.#points.length - 1];
    if (last && after <= last.after) return;
    this.#points.push({ after, scores });
    if (this.#points.length > 800) this.#points = this.#points.filter((_, i) => i % 2 === 0 || i === this.#points.length - 1);
    this.#draw();
  }

  #draw() {
    if (this.#points.length < 2) return;
    const width = this.#host.clientWidth, height = 280, left = 58, right = 128, top = 12, bottom = 40;
    const last = this.#points[this.#points.length - 1];
    const names = last.scores.map((s) => s.name);
    const share = (p, i) => { // of the last few hundred items
      const s = p.scores[i];
      return s.lateOf ? s.late / s.lateOf : s.right / s.all;
    };
    let low = 1, high = 0;
    const settled = this.#points.slice(Math.min(3, this.#points.length - 2)); // the first few items say little
    for (const p of settled) {
      for (let i = 0; i < names.length; i++) {
        low = Math.min(low, share(p, i));
        high = Math.max(high, share(p, i));
      }
    }
    low = Math.max(0, Math.floor(20 * low - 0.2) / 20);
    high = Math.min(1, Math.ceil(20 * high + 0.2) / 20);
    const x = (after) => left + ((width - left - right) * (after - this.#points[0].after)) / (last.after - this.#points[0].after);
    const y = (v) => top + (height - top - bottom) * (1 - (Math.min(high, Math.max(low, v)) - low) / (high - low));
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    drawing.setAttribute("aria-label", "Right, of the last 500 items: " + names.map((n, i) => `${n} ${(100 * share(last, i)).toFixed(1)} %`).join(", "));
    for (const t of ticks(low, high)) {
      drawing.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }),
        svg("text", { x: left - 8, y: y(t) + 4, "text-anchor": "end" }, Math.round(100 * t) + " %"));
    }
    drawing.append(svg("text", { x: left, y: height - 22 }, String(this.#points[0].after)),
      svg("text", { x: width - right, y: height - 22, "text-anchor": "end" }, last.after.toLocaleString()),
      axis((left + width - right) / 2, height - 6, "items answered"), axis(12, (top + height - bottom) / 2, "right, of the last 500", true));
    const ends = names.map((name, i) => ({ name, i, y: y(share(last, i)) })).sort((a, b) => a.y - b.y);
    for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + 28);
    const overshoot = ends[ends.length - 1].y + 12 - height;
    if (overshoot > 0) for (const end of ends) end.y -= overshoot;
    for (const i of names.keys()) {
      const curve = path(this.#points.map((p) => [x(p.after), y(share(p, i))]));
      drawing.append(svg("path", { class: "curve", d: curve, stroke: colours[i % colours.length] }));
    }
    for (const end of ends) {
      drawing.append(svg("circle", { cx: width - right, cy: y(share(last, end.i)), r: 3.5, fill: colours[end.i % colours.length] }),
        svg("text", { class: "value", x: width - right + 12, y: end.y + 1 }, (100 * share(last, end.i)).toFixed(1) + " %"),
        svg("text", { x: width - right + 12, y: end.y + 14 }, end.name));
    }
    this.#host.replaceChildren(drawing);
  }
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
    if (!this.#points.length) return;
    const width = this.#host.clientWidth, height = 190, left = 58, right = 20, top = 12, bottom = 40;
    const high = Math.min(1, 1.15 * Math.max(2 * this.#most, ...this.#points.map(([, wrong]) => wrong)));
    const x = (share) => left + (width - left - right) * share;
    const y = (wrong) => top + (height - top - bottom) * (1 - wrong / high);
    const percent = (part) => `${+(100 * part).toFixed(1)} %`;
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    const [share, wrong] = this.#points.findLast(([, wrong]) => wrong <= this.#most) || [0, 0];
    drawing.setAttribute("aria-label", `Of the surest ${percent(share)} of the answers to labelled items ${percent(wrong)} were wrong; at most ${percent(this.#most)} may be`);
    for (const t of ticks(0, high)) {
      drawing.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }),
        svg("text", { x: left - 8, y: y(t) + 4, "text-anchor": "end" }, percent(t)));
    }
    for (const t of [0, .5, 1]) drawing.append(svg("text", { x: x(t), y: height - 22, "text-anchor": "middle" }, percent(t)));
    drawing.append(svg("line", { class: "cross", x1: left, x2: width - right, y1: y(this.#most), y2: y(this.#most) }),
      svg("text", { class: "value", x: left + 6, y: y(this.#most) - 5 }, `at most ${percent(this.#most)} wrong`),
      svg("path", { class: "curve", d: path(this.#points.map(([share, wrong]) => [x(share), y(wrong)])), stroke: "var(--accent)" }),
      svg("circle", { cx: x(share), cy: y(wrong), r: 3.5, fill: "var(--accent)" }),
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
    onResize(host, () => this.#draw());
  }

  show(trace) {
    if (!trace || trace.length < 2) return;
    this.#traces.push(trace);
    if (this.#traces.length > 14) this.#traces.shift();
    this.#draw();
  }

  #draw() {
    if (this.#traces.length === 0) return;
    const trace = this.#traces[this.#traces.length - 1];
    const width = this.#host.clientWidth, height = 190, left = 72, right = 74, top = 12, bottom = 40;
    const [first, last] = [trace[0], trace[trace.length - 1]];
    const steps = Math.max(...this.#traces.map((t) => t.length)) - 1;
    // Earlier episodes are drawn by how far they fell in all, so that only the shape is compared.
    const fall = first - last || 1;
    const low = last - 0.06 * Math.abs(fall), high = first + 0.06 * Math.abs(fall);
    const x = (i) => left + ((width - left - right) * i) / steps;
    const y = (v) => top + ((height - top - bottom) * (high - v)) / (high - low);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    drawing.setAttribute("aria-label", `The objective fell from ${first.toFixed(1)} to ${last.toFixed(1)} in ${trace.length - 1} steps`);
    for (const t of ticks(low, high)) {
      drawing.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }),
        svg("text", { x: left - 8, y: y(t) + 4, "text-anchor": "end" }, t.toLocaleString(undefined, { maximumFractionDigits: 1 })));
    }
    for (const earlier of this.#traces.slice(0, -1)) {
      const [a, b] = [earlier[0], earlier[earlier.length - 1]];
      const scale = a === b ? 0 : fall / (a - b);
      drawing.append(svg("path", { class: "earlier", d: path(earlier.map((v, i) => [x(i), y(last + (v - b) * scale)])) }));
    }
    drawing.append(svg("path", { class: "curve", d: path(trace.map((v, i) => [x(i), y(v)])), stroke: "var(--accent)" }),
      svg("circle", { cx: x(trace.length - 1), cy: y(last), r: 3.5, fill: "var(--accent)" }),
      svg("text", { class: "value", x: x(trace.length - 1) + 8, y: y(last) + 4 }, last.toFixed(1)),
      svg("text", { x: left, y: height - 22 }, steps > 1 ? "0" : "before"),
      svg("text", { x: width - right, y: height - 22, "text-anchor": "end" }, steps > 1 ? String(steps) : "after"),
      axis((left + width - right) / 2, height - 6, "steps of the descent"), axis(12, (top + height - bottom) / 2, "objective R", true));
    this.#host.replaceChildren(drawing);
  }
}
