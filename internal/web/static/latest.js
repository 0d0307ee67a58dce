// The latest items as cards, at a pace an eye can follow. They stand still while somebody points at them or moves about in them, so
// that nothing slips away under the hand.
import { ago, arrange, button, el, held, icon, panel, secondsSince, tile } from "./parts.js";

const kept = 80, most = 14, pace = 700; // items known, items shown, milliseconds

export class Latest {
  #open; #fits; #items = []; #queue = []; #tiles = new Map(); #paused = false; #ahead = false;
  #none = el("p", { class: "soft" }, "None since this page opened.");
  #grid = el("div", { class: "grid", id: "latest", role: "group", "aria-label": "The latest items" });
  #button = button([icon("pause"), "Pause"], () => this.pause(), { id: "pause", class: "b ghost push", "aria-pressed": "false", "aria-keyshortcuts": "p" });
  card = panel("latest", "Latest", [el("span", { class: "legend" }, el("span", {}, el("i", { class: "key first" }), "first answer"), el("span", {}, el("i", { class: "key unknown" }), "no name")), this.#button], this.#grid);

  constructor(open, fits) {
    this.#open = open;
    this.#fits = fits;
    setInterval(() => this.#step(), pace);
  }

  any() { return this.#items.length > 0; }

  pause() {
    this.#paused = !this.#paused;
    this.#button.setAttribute("aria-pressed", String(this.#paused));
    this.#button.replaceChildren(icon(this.#paused ? "play" : "pause"), this.#paused ? "Go on" : "Pause");
  }

  first(items) {
    this.#ahead = true;
    this.#queue.push(...items);
  }

  settle(items) {
    const now = new Map(items.map((item) => [item.id, item]));
    const settled = (item) => {
      const next = now.get(item.id);
      return next && !(item.taught && !next.taught) ? next : item;
    };
    this.#queue = this.#queue.map(settled);
    this.#items = this.#items.map((item) => {
      const next = settled(item);
      if (next !== item) this.#draw(next);
      return next;
    });
  }

  episode({ items }) {
    this.settle(items);
    if (!this.#ahead) this.#queue.push(...items.slice(this.any() ? -8 : -most));
    this.#ahead = false;
    if (!this.any()) for (let i = 0; i < most && this.#queue.length; i++) this.#items.unshift(this.#queue.shift());
    this.show();
  }

  // taught marks what a person has just taught; without a name, that it was taken back.
  taught(id, label) {
    this.#items = this.#items.map((item) => {
      if (item.id !== id) return item;
      const next = label ? { ...item, label, taught: true, unknown: false, said: item.said || item } : item.said || item;
      this.#draw(next);
      return next;
    });
    this.show();
  }

  #step() {
    this.#queue = this.#queue.slice(-6);
    if (this.#paused || held(this.#grid) || document.hidden || document.querySelector("dialog[open]") || !this.#queue.length) return;
    const item = this.#queue.shift();
    this.#items = [item, ...this.#items.filter((other) => other.id !== item.id)].slice(0, kept);
    this.show();
    this.#tiles.get(item.id)?.classList.add("fresh");
  }

  #draw(item) {
    const old = this.#tiles.get(item.id);
    if (!old) return;
    const focused = old === document.activeElement, next = tile(item, this.#open);
    this.#tiles.set(item.id, next);
    old.replaceWith(next);
    if (focused) next.focus({ preventScroll: true });
  }

  // paint draws all anew, as names have other colours now.
  paint() {
    this.#tiles.clear();
    this.show();
  }

  show() {
    const shown = this.#items.filter(this.#fits).slice(0, innerWidth > 760 ? most : 9);
    for (const id of this.#tiles.keys()) if (!shown.some((item) => item.id === id)) this.#tiles.delete(id);
    for (const item of shown) if (!this.#tiles.has(item.id)) this.#tiles.set(item.id, tile(item, this.#open));
    const tiles = shown.map((item) => this.#tiles.get(item.id));
    arrange(this.#grid, tiles.length ? tiles : [this.#none]);
    for (const t of tiles) {
      const time = t.querySelector(".m > :last-child"), text = ago(secondsSince(t.item.time));
      if (time && time.textContent !== text) time.textContent = text;
    }
  }
}
