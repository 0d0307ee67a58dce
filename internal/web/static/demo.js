// The demo: three cameras above three belts. One sentence and one action first, one figure against one comparison.
import { ask, link, said, shell } from "./shell.js";
import { changed } from "./changes.js";
import { badge, button, counted, draw, el, fill, held, icon, meter, pageOf, panel, pic } from "./parts.js";
import { naming, open } from "./item.js";
import { Scene } from "./scene.js";

const least = 40; // things after which a share means something
const spoken = (pair, i) => (pair[i].lateOf < least ? "–" : `${Math.round((100 * pair[i].late) / pair[i].lateOf)} %`);
const share = (pair, i) => (pair[i].lateOf < least ? 0 : pair[i].late / pair[i].lateOf);

export class Demo {
  #title = el("h1"); #text = el("p"); #acts = el("div", { class: "acts" }); #new = el("span", { class: "new" }); #figure = el("div", { class: "figure" }); #curves = el("div", { class: "curves" });
  #list = el("ol", { id: "taught" }); #newest = null; #called = ""; #any = null; #cameras; #scene; #pause; #canvas;
  taught = panel("shown", "All it was taught", el("span", { class: "soft" }, "one picture of each thing"), this.#list);

  constructor(cameras) {
    this.#cameras = cameras;
    this.#canvas = el("canvas", { role: "img", "aria-label": "Three conveyor belts. Things ride by, each in a box with its name: dotted at once, solid when settled." });
    this.#scene = new Scene(this.#canvas, cameras, (item) => (item.fresh ? this.#name(item) : open(item)));
    this.#pause = button("", () => this.pause(), { id: "pause", class: "b ghost big", "aria-keyshortcuts": "p" });
    this.#showPause();
    const keys = [["first", "named at once"], ["", "settled"], ["wrong", "wrong"], ["unknown", "no name yet"]];
    this.box = el("section", { class: "card hero", "aria-label": "The demo" }, el("div", { class: "say" }, el("div", {}, this.#title, this.#text, this.#acts), this.#new), this.#figure,
      el("div", { class: "scene" }, this.#canvas, this.#curves), el("div", { class: "foot" }, el("span", { class: "legend" }, keys.map(([k, text]) => el("span", {}, el("i", { class: "key " + k }), text))), el("span", {}, "Everything runs on this machine: a broker, three cameras, the stage, this page. ", el("a", { class: "b", href: "./?usual" }, "See its cameras"))));
    this.#say();
    this.refresh();
  }

  pause() {
    this.#scene.paused = !this.#scene.paused;
    this.#showPause();
  }
  #showPause() {
    this.#pause.setAttribute("aria-pressed", String(this.#scene.paused));
    this.#pause.replaceChildren(icon(this.#scene.paused ? "play" : "pause"), this.#scene.paused ? "Go on" : "Pause");
  }

  first(items) {
    for (const item of items) {
      this.#any = item;
      this.#scene.first(item);
      if (item.fresh) this.#fresh(item);
    }
  }
  settle(items) { this.#scene.settle(items); }
  episode({ items }) {
    this.#scene.settle(items);
    this.#scene.begin(items);
    const item = items.findLast((i) => i.fresh);
    if (item) this.#fresh(item);
  }

  #fresh(item) {
    if (this.#called) return;
    if (!this.#newest || !held(this.#new)) this.#newest = item;
    this.#say();
  }

  #name(item) {
    if (!shell.teach) return open(item);
    naming(pic(item, "square l"), async (name) => {
      try {
        await ask("api/teach", { id: item.id, label: name });
        this.#called = name;
        this.#say();
        changed({ text: `Taught: this is ${name}. All three cameras know it now`, name, undo: [["api/forget", { id: item.id }]] }, () => {
          this.#called = "";
          this.#say();
        });
      } catch (error) { said(error); }
    });
  }

  #say() {
    const stage = this.#called ? "named" : this.#newest ? "new" : "before", item = this.#newest;
    const says = {
      before: ["Ten things ride by. One picture of each was taught.", "Each gets a name at once, in a dotted box; some seconds later it settles. In a moment something new comes.",
        () => button("See how it knows", () => this.#any && open(this.#any), { class: "b primary big" })],
      new: ["Something new is coming that has no name.", "Click it in the picture and call it \u201ctag\u201d. One name is enough: the next ones are called so too, on all three cameras.",
        () => button([icon("pen"), "Name it"], () => this.#name(this.#newest), { id: "name-it", class: "b primary big" })],
      named: [`That was all: ${this.#called} is known to all three cameras.`, "Watch camera 2 and camera 3: the light falls and the camera tilts, and the names stay right.", () => link("Correct the wrong ones", "review", "primary big")],
    }[stage];
    this.#title.textContent = says[0];
    this.#text.textContent = says[1];
    fill(this.#acts, stage + shell.teach, () => (stage === "before" || shell.teach ? says[2]() : ""), this.#pause);
    fill(this.#new, stage + (stage === "new" ? item.id : ""), stage === "new" && (() => {
      const p = pic(item, "square");
      p.append(el("span", { class: "frame" }), el("span", { class: "flag" }, "this one"));
      return el("button", { type: "button", class: "tile unknown", "aria-label": "This one is new: name it", onclick: () => this.#name(item) }, p);
    }));
  }

  score(score) {
    if (!score) return;
    if (score.called !== this.#called && (score.called || !document.querySelector(".toast"))) {
      this.#called = score.called;
      this.#say();
    }
    const late = score.all[0].lateOf;
    const all = [...score.all, score.aside];
    fill(this.#figure, JSON.stringify(all), () => el("p", { class: "big" }, late < least ? "–" : String(Math.round(100 * share(score.all, 0))), el("small", {}, late < least ? "" : "%")), () => el("p", { class: "cap" }, late < least ? "waiting for the first things" : `right, of the last ${late} things`),
      () => el("div", { class: "vs" }, ["slkstream", "nearest example", "no name yet"].map((name, i) => [el("span", { class: i ? "soft" : "", title: i > 1 ? "slkstream is not sure enough to show these; they count by the name that they are most like" : null }, name), meter(share(all, i), i ? "" : "a"), el("span", { class: i ? "soft" : "" }, spoken(all, i))])));
    fill(this.#curves, JSON.stringify(score.cameras) + JSON.stringify(score.curves), () => this.#cameras.map(({ camera, about }, at) => this.#curve(camera, about, score.cameras[camera], score.curves[camera] || [], at)));
  }

  #curve(camera, about, pair, points, at) {
    const low = 0.3, x = (i) => (points.length > 1 ? (100 * i) / (points.length - 1) : 0), y = (v) => 4 + (84 * (1 - Math.max(low, v))) / (1 - low);
    const line = (k) => points.map((p, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(p.shares[k]).toFixed(1)}`).join("");
    const value = (k) => (pair ? spoken(pair, k) : "–");
    return el("div", { class: "curve" }, el("header", {}, el("b", {}, camera), el("span", {}, about), el("span", { class: "v" }, value(0)), el("span", { class: "v" }, value(1))),
      el("div", { class: "plot" }, el("div", { "aria-hidden": "true" }, ["100 %", "65 %", "30 %"].map((t) => el("span", {}, t))), draw("svg", { viewBox: "0 0 100 92", preserveAspectRatio: "none", role: "img", "aria-label": `${camera}: slkstream ${value(0)} right, nearest example ${value(1)}` },
        [4, 46, 88].map((h) => draw("line", { class: "g", x1: 0, x2: 100, y1: h, y2: h })), points.length > 1 && [draw("path", { class: "o", d: line(1) }), draw("path", { d: line(0) })])),
      el("footer", {}, el("span", {}, at === 2 ? "the start" : ""), el("span", {}, at === 2 ? "now" : "")));
  }

  // refresh shows what it was taught.
  async refresh() {
    try {
      const { examples } = await ask("page/taught");
      fill(this.#list, JSON.stringify(examples) + Object.keys(shell.marks).length, () => examples.map((e) => el("li", {}, el("a", { class: "tile", href: pageOf(e.label) }, pic(e, "square"), el("span", { class: "t" }, badge(e.label), el("span", { class: "cut" }, e.label))))));
      this.taught.querySelector(".soft").textContent = `${counted(examples.length, "picture").toLowerCase()}`;
    } catch { /* it asks again */ }
  }
}
