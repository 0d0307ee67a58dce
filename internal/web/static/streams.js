// The streams over the last hour: a table, and the answers of each minute.
import { ask, whole } from "./dom.js";
import { path, svg } from "./svg.js";

const share = (part, all) => (all ? (100 * part / all).toFixed(1) + " %" : "–");
const most = 50; // rows

export class Streams {
  #rows; #chart; #hint;

  constructor(rows, chart, hint) {
    this.#rows = rows;
    this.#chart = chart;
    this.#hint = hint;
  }

  async follow() {
    try {
      if (!document.hidden) this.#show(await ask("api/streams"));
    } catch {} // the page says that the stage is away
    setTimeout(() => this.follow(), 5000);
  }

  #show({ streams, minutes, dead }) {
    const refused = Object.entries(dead || {}).map(([reason, n]) => `${whole.format(n)} ${reason}`).join(", ");
    const waiting = streams.reduce((sum, s) => sum + s.waiting, 0);
    this.#hint.textContent = [`${whole.format(streams.length)} seen`, waiting && `${whole.format(waiting)} items wait for review`,
      refused && `dead letters: ${refused}`].filter(Boolean).join(" · ");
    this.#rows.replaceChildren(...streams.slice(0, most).map((s) => {
      const row = document.createElement("tr");
      const cells = [s.stream, s.perMinute.toFixed(0), whole.format(s.answered), share(s.unknown, s.answered),
        share(s.unsure, s.answered), s.delaySeconds.toFixed(1) + " s", new Date(s.seen).toLocaleTimeString(), s.waiting || ""];
      for (const text of cells) row.insertCell().textContent = text;
      if (s.doubtful) {
        row.className = "doubtful";
        row.cells[0].append(" (doubtful)");
        row.title = "fewer than half of the items that people labelled were answered right: teach it some of its own items";
      }
      return row;
    }));
    this.#draw(minutes);
  }

  #draw(minutes) {
    const width = this.#chart.clientWidth, height = 90, bottom = 16, right = 84;
    const highest = Math.max(1, ...minutes.map((m) => m.answered));
    const x = (i) => ((width - right) * i) / Math.max(1, minutes.length - 1);
    const y = (n) => 6 + (height - bottom - 6) * (1 - n / highest);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    drawing.setAttribute("aria-label", `Answers of each minute of the last hour, at most ${highest}`);
    const curves = [["answered", "var(--accent)"], ["unknown", "var(--second)"], ["unsure", "var(--third)"]];
    curves.forEach(([name, colour], i) => {
      drawing.append(svg("path", { class: "curve", d: path(minutes.map((m, at) => [x(at), y(m[name])])), stroke: colour }),
        svg("line", { x1: width - right + 8, x2: width - right + 16, y1: 12 + 16 * i, y2: 12 + 16 * i, stroke: colour, "stroke-width": 3 }),
        svg("text", { x: width - right + 20, y: 16 + 16 * i }, name));
    });
    drawing.append(svg("text", { x: 0, y: height - 2 }, "an hour ago"),
      svg("text", { x: width - right, y: height - 2, "text-anchor": "end" }, `now; at most ${whole.format(highest)} a minute`));
    this.#chart.replaceChildren(drawing);
  }
}
