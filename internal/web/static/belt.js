// The belt: items as they come, at a pace an eye can follow, and the same sorted by label. Where the stage answers at once,
// items come with their first answers and are sorted once they are settled. The belt stands still while someone points at
// it or moves about in it, so that nothing slips away under the hand.
import { make } from "./dom.js";
import { mark, tile } from "./tile.js";

const shown = 24; // tiles on the strip
const kept = 14; // tiles of a bin
const mostBins = 40;

export class Belt {
  #strip; #bins; #pauseButton; #palette; #open; #found;
  #queue = [];
  #paused = false;
  #held = false;
  #binOf = new Map();
  #timer = 0;
  #next = 0;
  #arrived = 0;
  #period = 1000;
  #ahead = false; // items have come with first answers since the last episode
  #sorts = false; // the queue's items are sorted and not put on the strip, as first answers are there

  constructor(strip, bins, pauseButton, palette, open, found) {
    this.#strip = strip;
    this.#bins = bins;
    this.#pauseButton = pauseButton;
    this.#palette = palette;
    this.#open = open;
    this.#found = found;
    pauseButton.addEventListener("click", () => this.#pause(!this.#paused));
    document.addEventListener("keydown", (event) => {
      if (event.key === "p" && !event.target.matches("input") && !document.querySelector("dialog[open]")) this.#pause(!this.#paused);
    });
    for (const area of [strip, bins]) {
      area.addEventListener("pointerenter", () => this.#hold(true));
      area.addEventListener("pointerleave", () => this.#hold(area.contains(document.activeElement)));
      area.addEventListener("focusin", () => this.#hold(true));
      area.addEventListener("focusout", () => this.#hold(area.matches(":hover")));
      area.addEventListener("keydown", (event) => this.#move(event, area));
      area.addEventListener("pointerover", (event) => this.#found(event.target.closest?.(".tile")?.item?.id));
      area.addEventListener("pointerout", () => this.#found(null));
    }
  }

  labels(labels) {
    for (const label of labels) this.#bin(label);
  }

  // first puts up items with their first answers.
  first(items) {
    this.#ahead = true;
    if (!this.#still()) for (const item of items) this.#come(item);
  }

  // settle says on their tiles how items were answered in the end; what a person taught stands.
  settle(items) {
    const settled = new Map(items.map((item) => [item.id, item]));
    for (const button of document.querySelectorAll(".tile")) {
      const item = settled.get(button.item.id);
      if (!item) continue;
      const { taught, label } = button.item;
      button.item = taught && !item.taught ? { ...item, taught, label } : item;
      mark(button, this.#palette);
    }
  }

  take(episode) {
    this.settle(episode.items);
    this.#sorts = this.#ahead;
    this.#ahead = false;
    const now = performance.now();
    if (this.#arrived) this.#period = Math.min(5000, Math.max(300, 0.7 * this.#period + 0.3 * (now - this.#arrived)));
    this.#arrived = now;
    this.#queue = episode.items.slice();
    this.#next = 0;
    clearTimeout(this.#timer);
    this.#step();
  }

  // taught marks what a person has just taught.
  taught(id, label) {
    for (const button of document.querySelectorAll(".tile")) {
      if (button.item.id !== id) continue;
      button.item.taught = true;
      button.item.label = label;
      mark(button, this.#palette);
    }
  }

  // The queue is played over the time between two episodes; where more come than an eye can follow, some go by unseen.
  #step() {
    if (this.#next >= this.#queue.length) return;
    const pace = Math.max(110, (0.95 * this.#period) / this.#queue.length);
    const steps = Math.max(1, Math.round((this.#queue.length * pace) / (0.95 * this.#period)));
    if (!this.#still()) this.#add(this.#queue[this.#next]);
    this.#next += steps;
    this.#timer = setTimeout(() => this.#step(), pace);
  }

  #still() {
    return this.#paused || this.#held || document.hidden || document.querySelector("dialog[open]");
  }

  #come(item) {
    const button = tile(item, this.#palette, this.#open, true);
    button.classList.add("fresh");
    this.#put(this.#strip, button, shown);
  }

  #add(item) {
    if (!this.#sorts) this.#come(item);
    const bin = this.#bin(item.label);
    if (!bin) return;
    bin.count += 1;
    bin.number.textContent = bin.count;
    this.#put(bin.items, tile(item, this.#palette, this.#open, false), kept);
  }

  #put(area, button, most) {
    button.tabIndex = area.firstChild ? -1 : 0;
    if (area.firstChild) {
      area.firstChild.tabIndex = -1;
      button.tabIndex = 0;
    }
    area.prepend(button);
    while (area.children.length > most) area.lastChild.remove();
  }

  #bin(label) {
    if (this.#binOf.has(label)) return this.#binOf.get(label);
    if (this.#binOf.size >= mostBins) return null;
    const number = make("small", {}, "0");
    const items = make("div", { className: "items" });
    const name = make("div", { className: "name" }, this.#palette.swatch(label), make("b", { title: label }, label), number);
    this.#bins.append(make("div", { className: "bin" }, name, items));
    const bin = { items, number, count: 0 };
    this.#binOf.set(label, bin);
    return bin;
  }

  #pause(paused) {
    this.#paused = paused;
    this.#pauseButton.setAttribute("aria-pressed", String(paused));
    this.#pauseButton.textContent = paused ? "Go on" : "Pause";
  }

  #hold(held) {
    this.#held = held;
  }

  // Arrow keys move through the tiles: along a row, and from bin to bin.
  #move(event, area) {
    const current = event.target.closest(".tile");
    if (!current) return;
    const rows = area === this.#strip ? [area] : [...area.querySelectorAll(".items")].filter((row) => row.children.length);
    const row = rows.indexOf(current.parentElement);
    const column = [...current.parentElement.children].indexOf(current);
    let next = null;
    if (event.key === "ArrowRight") next = current.nextElementSibling;
    else if (event.key === "ArrowLeft") next = current.previousElementSibling;
    else if (event.key === "ArrowDown") next = rows[row + 1]?.children[Math.min(column, rows[row + 1].children.length - 1)];
    else if (event.key === "ArrowUp") next = rows[row - 1]?.children[Math.min(column, rows[row - 1].children.length - 1)];
    else return;
    event.preventDefault();
    if (next) {
      current.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
  }
}
