// The demo's scene: three belts, one for each camera. Things ride by; each gets a name at once (dotted box) and keeps it or loses it
// when its episode closes (solid box). The canvas is a picture for the eye and the pointer; the buttons beside it do the same.
const still = matchMedia("(prefers-reduced-motion: reduce)");
const speed = 0.075; // pixels a millisecond
const font = 'Inter, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';

export class Scene {
  paused = still.matches;
  #canvas; #cameras; #things = []; #waiting; #last = 0; #shift = 0;

  constructor(canvas, cameras, clicked) {
    this.#canvas = canvas;
    this.#cameras = cameras;
    this.#waiting = cameras.map(() => []);
    canvas.addEventListener("click", (e) => {
      const box = canvas.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
      const hit = this.#things.find((t) => Math.abs(t.x - x) < this.#side() * 0.6 && Math.abs(this.#middle(t.belt) - y) < this.#side() * 0.7);
      if (hit) clicked(hit.item);
    });
    requestAnimationFrame((t) => this.#frame(t));
  }

  // first puts a thing at the beginning of its belt, as soon as there is room. New things go first.
  first(item) {
    const belt = this.#cameras.findIndex((c) => c.camera === item.stream);
    if (belt < 0 || !item.image) return;
    const waiting = this.#waiting[belt], rides = this.#things.some((t) => t.belt === belt && t.item.fresh && t.x < this.#canvas.clientWidth / 2);
    if (item.fresh && !rides && !waiting[0]?.fresh) waiting.unshift(item);
    else if (!item.fresh) waiting.push(item);
    if (waiting.length > 3) waiting.splice(waiting[0].fresh ? 1 : 0, 1);
  }

  // begin spreads the first things that are known over an empty belt.
  begin(items) {
    const belt = this.#cameras.findIndex((c) => c.camera === items[0]?.stream), w = this.#canvas.clientWidth;
    if (belt < 0 || !w || this.#things.some((t) => t.belt === belt && t.x > w / 2)) return;
    const from = Math.max(0, ...this.#things.filter((t) => t.belt === belt).map((t) => t.x)) + this.#gap();
    for (let x = from, i = 0; x < w && i < items.length; x += this.#gap(), i += 3) if (items[i].image) this.#put(belt, x, items[i]);
  }

  settle(items) {
    const now = new Map(items.map((item) => [item.id, item]));
    for (const t of this.#things) t.item = now.get(t.item.id) || t.item;
    for (const waiting of this.#waiting) waiting.forEach((item, i) => (waiting[i] = now.get(item.id) || item));
  }

  #height() { return this.#canvas.clientHeight / this.#cameras.length; }
  #side() { return Math.min(100, this.#height() * 0.58); }
  #gap() { return this.#side() * 1.62; }
  #middle(belt) { return this.#height() * (belt + 0.57); }

  #add(belt, x) {
    const item = this.#waiting[belt].shift();
    if (item) this.#put(belt, x, item);
  }

  #put(belt, x, item) {
    const thing = { belt, x, item, cut: null }, image = new Image();
    image.onload = () => (thing.cut = cutOut(image));
    image.src = item.image;
    this.#things.push(thing);
  }

  #frame(time) {
    const passed = Math.min(50, time - this.#last || 16), w = this.#canvas.clientWidth;
    this.#last = time;
    if (!this.paused && !document.hidden && w) {
      this.#shift += passed * speed;
      for (const t of this.#things) t.x += passed * speed;
      this.#things = this.#things.filter((t) => t.x < w + this.#side());
      for (const belt of this.#cameras.keys()) {
        const least = Math.min(...this.#things.filter((t) => t.belt === belt).map((t) => t.x), w);
        if (least > this.#gap() - this.#side()) this.#add(belt, -this.#side() * 0.6);
      }
    }
    if (Number(this.#canvas.dataset.things) !== this.#things.length) this.#canvas.dataset.things = this.#things.length;
    if (w && !document.hidden) this.#draw(w);
    requestAnimationFrame((t) => this.#frame(t));
  }

  #draw(w) {
    const c = this.#canvas, h = c.clientHeight, scale = Math.min(2, devicePixelRatio || 1), small = w < 560;
    if (c.width !== Math.round(w * scale)) { c.width = w * scale; c.height = h * scale; }
    const g = c.getContext("2d");
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.fillStyle = "#0b0f11";
    g.fillRect(0, 0, w, h);
    for (const belt of this.#cameras.keys()) this.#belt(g, belt, w);
    for (const t of this.#things) this.#thing(g, t, small);
    for (const [belt, { camera, about }] of this.#cameras.entries()) this.#sign(g, belt, camera, small ? "" : about, small);
  }

  #belt(g, belt, w) {
    const height = this.#height(), side = this.#side(), y = this.#middle(belt);
    g.save();
    g.beginPath(); g.rect(0, height * belt, w, height); g.clip();
    g.fillStyle = "#12181b"; g.fillRect(0, height * belt, w, height);
    g.fillStyle = "#2a3337"; g.fillRect(0, y - side * 0.56, w, side * 1.14);
    g.fillStyle = "#171e21"; g.fillRect(0, y + side * 0.5, w, side * 0.1);
    g.strokeStyle = "rgb(255 255 255 / .06)"; g.lineWidth = 2;
    for (let x = (this.#shift % 46) - 60; x < w + 60; x += 46) { g.beginPath(); g.moveTo(x, y - side * 0.56); g.lineTo(x - 10, y + side * 0.5); g.stroke(); }
    if (belt) { g.fillStyle = "#243035"; g.fillRect(0, height * belt, w, 1); }
    g.restore();
  }

  #thing(g, t, small) {
    const side = this.#side(), y = this.#middle(t.belt), { item } = t, settled = item.settled !== false;
    if (t.cut) { g.imageSmoothingQuality = "high"; g.drawImage(t.cut, t.x - side * 0.42, y - 4 - side * 0.42, side * 0.84, side * 0.84); }
    if (t.x < side * 0.45) return; // it has no name before it is seen whole
    const wrong = !item.unknown && (item.fresh || (item.truth && item.truth !== item.label)), plain = !item.unknown && !wrong;
    const colour = item.unknown ? "#f0b94a" : wrong ? "#ff7a76" : settled ? "#ffffff" : "#aab6bb";
    g.strokeStyle = colour; g.lineWidth = item.unknown ? 2.5 : 2; g.lineCap = settled ? "butt" : "round";
    g.setLineDash(item.unknown ? [8, 5] : settled ? [] : [2, 4]);
    g.beginPath(); g.roundRect(t.x - side * 0.5, y - side * 0.53, side, side, 8); g.stroke(); g.setLineDash([]);
    const text = (wrong ? "✕ " : "") + (item.unknown ? (small ? "name?" : "no name yet") : item.label);
    g.font = `${settled ? "600" : "italic 500"} ${small ? 11 : 13}px ${font}`;
    const tw = g.measureText(text).width + 14, th = small ? 19 : 22, ty = y + side * 0.5 - th / 2 + 2;
    g.fillStyle = plain && !settled ? "#1b2428" : colour;
    g.beginPath(); g.roundRect(t.x - tw / 2, ty, tw, th, 6); g.fill();
    if (plain && !settled) { g.lineWidth = 1.2; g.setLineDash([1.5, 3]); g.stroke(); g.setLineDash([]); }
    g.fillStyle = plain && !settled ? "#dfe6e9" : "#0b0f11";
    g.textAlign = "center"; g.textBaseline = "middle"; g.fillText(text, t.x, ty + th / 2 + 0.5);
    g.textAlign = "left"; g.textBaseline = "alphabetic";
  }

  #sign(g, belt, camera, about, small) {
    const top = this.#height() * belt, bold = `600 ${small ? 12 : 13}px ${font}`, light = `450 13px ${font}`;
    g.font = bold;
    const wide = g.measureText(camera).width;
    g.font = light;
    const more = about ? g.measureText(about).width + 8 : 0;
    g.fillStyle = "rgb(8 12 14 / .82)"; g.beginPath(); g.roundRect(12, top + 8, wide + more + 18, 24, 7); g.fill();
    g.fillStyle = "#9fadb3"; g.fillText(about, 21 + wide + 8, top + 24.5);
    g.font = bold; g.fillStyle = "#fff"; g.fillText(camera, 21, top + 24.5);
  }
}

// The sample pictures are grey on black: brightness becomes opacity, so that a thing lies on the belt without a black square.
function cutOut(image) {
  const c = document.createElement("canvas");
  c.width = image.naturalWidth; c.height = image.naturalHeight;
  const g = c.getContext("2d", { willReadFrequently: true });
  g.drawImage(image, 0, 0);
  const data = g.getImageData(0, 0, c.width, c.height), d = data.data;
  for (let i = 0; i < d.length; i += 4) { const v = d[i]; d[i + 3] = v < 12 ? 0 : Math.min(255, v * 2.4); for (let k = 0; k < 3; k++) d[i + k] = Math.min(255, 30 + v); }
  g.putImageData(data, 0, 0);
  return c;
}
