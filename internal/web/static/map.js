// The map of the last episode: its items in the plane, and the graph that ties neighbours together.
import { empty, onResize, svg } from "./svg.js";
import { describe, picture, wrong } from "./tile.js";

const margin = 18;

export class EpisodeMap {
  #host; #keys; #palette; #open;
  #nodes = new Map();
  #episode = null;

  constructor(host, keys, palette, open) {
    this.#host = host;
    this.#keys = keys;
    this.#palette = palette;
    this.#open = open;
    empty(host, "waiting for the first episode");
    onResize(host, () => this.#draw());
  }

  show(episode) {
    if (this.#host.matches(":hover")) return; // someone is looking closely
    this.#episode = episode;
    this.#draw();
  }

  #draw() {
    const episode = this.#episode;
    if (!episode) return;
    const width = this.#host.clientWidth, height = Math.min(340, Math.max(240, 0.6 * width));
    const items = episode.items;
    const xs = items.map((item) => item.x), ys = items.map((item) => item.y);
    const span = (values) => [Math.min(...values), Math.max(...values) - Math.min(...values) || 1];
    const [x0, dx] = span(xs), [y0, dy] = span(ys);
    const x = (item) => margin + ((width - 2 * margin) * (item.x - x0)) / dx;
    const y = (item) => margin + ((height - 2 * margin) * (item.y - y0)) / dy;
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height + 18}`, role: "img" });
    drawing.setAttribute("aria-label", `Map of episode ${episode.episode}: ${items.length} items, ${(episode.edges || []).length} edges`);
    for (const [a, b] of episode.edges || []) {
      if (items[a] && items[b]) drawing.append(svg("line", { class: "edge", x1: x(items[a]), y1: y(items[a]), x2: x(items[b]), y2: y(items[b]) }));
    }
    drawing.append(svg("text", { class: "axis", x: width / 2, y: height + 14, "text-anchor": "middle" }, "first principal component"),
      svg("text", { class: "axis", x: 4, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 4 ${height / 2})` }, "second"));
    this.#nodes.clear();
    const counts = new Map();
    for (const item of items) {
      counts.set(item.label, (counts.get(item.label) || 0) + 1);
      const node = svg("circle", { class: wrong(item) ? "node wrong" : "node", cx: x(item), cy: y(item), r: 5.5, fill: this.#palette.of(item.label) });
      if (item.unknown) node.setAttribute("fill-opacity", ".35");
      node.addEventListener("pointerenter", () => this.#tip(item, x(item), y(item)));
      node.addEventListener("pointerleave", () => this.#host.querySelector(".tip")?.remove());
      node.addEventListener("click", () => this.#open(item));
      drawing.append(node);
      this.#nodes.set(item.id, node);
    }
    this.#host.replaceChildren(drawing);
    const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 10);
    this.#keys.replaceChildren(...most.map(([label, count]) => {
      const key = document.createElement("li");
      key.append(this.#palette.swatch(label), `${label} ${count}`);
      return key;
    }));
  }

  // find points out one item, or none.
  find(id) {
    for (const node of this.#host.querySelectorAll(".found")) node.classList.remove("found");
    this.#nodes.get(id)?.classList.add("found");
  }

  #tip(item, x, y) {
    const tip = document.createElement("div");
    tip.className = "tip";
    if (item.image) tip.append(picture(item));
    tip.append(describe(item));
    tip.style.left = `min(${x + 12}px, calc(100% - 11rem))`;
    tip.style.top = `${y + 12}px`;
    this.#host.querySelector(".tip")?.remove();
    this.#host.append(tip);
  }
}
