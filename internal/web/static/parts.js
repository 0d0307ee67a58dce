// Small parts that every page uses: elements, icons, marks of names, pictures, tiles, bars, dialogs. There is no inline style
// attribute and no inline script: the page runs under "script-src 'self'; style-src 'self'".
export const at = (id) => document.getElementById(id);
const kept = (kids) => kids.flat(9).filter((kid) => kid || kid === 0);

// el makes an element. css sets custom properties and sizes through CSSOM, which the policy allows.
export function el(tag, attributes = {}, ...kids) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "css") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = value;
    else if (key === "item") node.item = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...kept(kids));
  return node;
}

export function draw(tag, attributes, ...kids) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...kept(kids));
  return node;
}

// fill replaces what an element holds, if it has changed since: nothing moves under a hand.
export function fill(node, key, ...kids) {
  if (node.shows === key) return;
  node.shows = key;
  node.replaceChildren(...kept(kids.flat(9).map((kid) => (typeof kid === "function" ? kid() : kid))));
}

// arrange makes these the children of an element, in order. Those that stay in place are not touched: what is moved is laid out and
// drawn anew.
export function arrange(node, kids) {
  kids.forEach((kid, i) => node.children[i] !== kid && node.insertBefore(kid, node.children[i] || null));
  while (node.children.length > kids.length) node.lastChild.remove();
}

const paths = {
  live: "M2 10h3l2.5-6 4 12 2.5-6h4", review: "M3.5 10.5l4 4 9-9", names: "M3 3h6.5l7.5 7.5-6.5 6.5L3 9.5zM6.5 6.5v.1",
  unknown: "M10 17a7 7 0 100-14 7 7 0 000 14zM8 8a2 2 0 114 .4c-.6.8-2 1-2 2.4M10 13.6v.1",
  search: "M9 15A6 6 0 109 3a6 6 0 000 12zM13.5 13.5L17 17", theme: "M10 3a7 7 0 000 14zM10 3a7 7 0 010 14",
  undo: "M7 5L3.5 8.5 7 12M3.5 8.5H12a4.5 4.5 0 010 9H9", close: "M5 5l10 10M15 5L5 15",
  warn: "M10 3.2L17.5 16h-15zM10 8v3.6M10 13.8v.1", good: "M10 17a7 7 0 100-14 7 7 0 000 14zM7 10.2l2.2 2.2L13.3 8",
  off: "M3 3l14 14M6 7.5A6.6 6.6 0 004 10M8 5a6.9 6.9 0 018 5M10 15h.1", pause: "M7 4.5v11M13 4.5v11", play: "M6 4l9.5 6L6 16z",
  right: "M4 10h12M11.5 5.5L16 10l-4.5 4.5", back: "M16 10H4M8.5 5.5L4 10l4.5 4.5", lock: "M5 9h10v7.5H5zM7 9V6.5a3 3 0 016 0V9",
  pen: "M4 16l.8-3.4L13 4.4l2.6 2.6-8.2 8.2zM11 6.4L13.6 9", merge: "M4 4v3c0 3 3 3 6 3h6M4 16v-3c0-3 3-3 6-3M13 7l3 3-3 3",
  eye: "M2.5 10S5 5 10 5s7.5 5 7.5 5-2.5 5-7.5 5-7.5-5-7.5-5zM10 12a2 2 0 100-4 2 2 0 000 4z", camera: "M3 6h10v8H3zM13 9l4-2v6l-4-2",
};
export const icon = (name) => draw("svg", { viewBox: "0 0 20 20", class: "i", "aria-hidden": "true" }, draw("path", { d: paths[name] }));
export const button = (text, act, attributes = {}) => el("button", { type: "button", class: "b", ...attributes, onclick: act }, text);
export const key = (k) => el("kbd", { "aria-hidden": "true" }, k);

// choose is a row of buttons of which one is pressed: [value, text] each.
export function choose(name, options, value, act, more = "") {
  const seg = el("span", { class: "seg " + more, role: "group", "aria-label": name }, options.map(([v, text]) =>
    el("button", { type: "button", "aria-pressed": String(v === value), onclick: (e) => {
      for (const b of seg.children) b.setAttribute("aria-pressed", String(b === e.currentTarget));
      act(v);
    } }, text)));
  return seg;
}

// Names have the colours that the stage gave them. Cameras, and names too new to have one, get it from their letters alone, as in
// marks.go: so a camera has the same colour in every process, whatever other cameras that has.
let marks = {};
export function paint(ofNames) { marks = ofNames; }

export function slotOfCamera(name) {
  const [, stem, digits] = /^(.*?)([0-9]*)$/s.exec(name);
  let h = 2166136261;
  for (const c of new TextEncoder().encode(stem)) h = Math.imul(h ^ c, 16777619) >>> 0;
  return (((h ^ (h >>> 15)) >>> 0) + 7 * Number(digits.slice(-6))) % 24;
}
export const slot = (name) => marks[name]?.slot ?? slotOfCamera(name);

// badge is a name's shape with its initials; without a name a dashed ring with a question mark.
export function badge(name, more = "") {
  if (!name) return el("span", { class: "badge none " + more, "aria-hidden": "true" }, "?");
  const n = slot(name), initials = marks[name]?.initials ?? [...name].slice(0, 2).join("").toUpperCase();
  return el("span", { class: `badge c${n} sh${n % 3} ${initials.length > 2 ? "three" : ""} ${more}`, "aria-hidden": "true" }, initials);
}
export const who = (name, tag = "span", attributes = {}) =>
  el(tag, { class: "who", ...attributes }, badge(name), el("span", {}, name || "no name"));
// panel is a card with a title, what stands beside that, and what is below.
export const panel = (id, title, beside, ...kids) => el("section", { class: "card " + id, "aria-labelledby": id + "-title" }, el("div", { class: "head" }, el("h2", { id: id + "-title" }, title), beside), kids);
export const cam = (name) => el("span", { class: `cam c${slotOfCamera(name)}` }, el("span", { class: "cut" }, name || "a camera"));
export const cams = (names, most) => [names.slice(0, most).map(cam), names.length > most && el("span", {}, `+${names.length - most}`)];

// pic is the picture of an item, or where it has none its name's shape.
export function pic(item, more = "") {
  const name = item.unknown ? "" : item.label;
  const plain = () => el("span", { class: `pic plain ${name ? "c c" + slot(name) : ""} ${more}` }, badge(name, "l"));
  if (!item.image) return plain();
  const image = el("img", { src: item.image, alt: "", decoding: "async", referrerpolicy: "no-referrer" });
  const frame = el("span", { class: "pic " + more }, image);
  image.addEventListener("error", () => frame.isConnected && frame.replaceWith(plain()));
  return frame;
}

// tile is an item: a picture, its name, its camera and how long ago.
export function tile(item, act, attributes = {}, small = null) {
  const first = item.settled === false, wrong = Boolean(item.truth) && item.label !== item.truth && !item.unknown;
  const kind = item.unknown ? "unknown" : wrong ? "wrong" : first ? "first" : "";
  const flag = item.unknown ? "no name" : wrong ? "wrong" : first ? "first answer" : item.taught ? "taught" : "";
  const frame = pic(item), name = item.unknown ? "no name" : item.label;
  frame.append(...kept([el("span", { class: "frame" }), flag && el("span", { class: "flag" }, flag)]));
  const seen = item.time && ago(secondsSince(item.time));
  const t = el("button", { type: "button", class: `tile ${kind}`, item, onclick: () => act(t.item), ...attributes },
    frame, el("span", { class: "t" }, badge(item.unknown ? "" : item.label), el("span", { class: "cut" }, name)),
    small || (item.stream && el("span", { class: "m" }, cam(item.stream), el("span", {}, seen))));
  return t;
}

// begun leaves out the time before anything was there, in whole steps, so that a stage that has just begun fills the picture.
export const begun = (time, all, step) => Math.min(all, step * Math.max(1, Math.ceil(time / step)));

// axis has the times below the tracks that begin and end so, in seconds.
export const quarters = 240; // its step: a minute between two of its times
export const axis = (start, end, now) => el("div", { class: "row axis", "aria-hidden": "true" }, el("span"), el("div", {}, [0, 1, 2, 3, 4].map((q) =>
  el("span", {}, q > 3 && now - end < 60 ? "now" : clock(1000 * (start + (q * (end - start)) / 4))))), el("span"));

// stay is one stay of a name before a camera; until says when it ended.
export const stay = (v, until = clock(v.to * 1000)) => `${clock(v.from * 1000)} to ${until}`;
// pageOf is the address of a name's page.
export const pageOf = (name) => "names?name=" + encodeURIComponent(name);
export function spark(values) {
  const most = Math.max(...values, 1), x = (i) => (100 * i) / (values.length - 1), y = (v) => 20 - (18 * v) / most;
  const line = values.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  return draw("svg", { class: "spark", viewBox: "0 0 100 22", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("path", { class: "area", d: `${line}L100 22L0 22Z` }), draw("path", { d: line }));
}
export const meter = (share, more = "") =>
  el("span", { class: "meter " + more }, el("i", { css: { "--w": `${Math.round(100 * Math.min(1, share))}%` } }));

// nearness is the ruler of an answer: how much of it each name has, on one scale, so that the answer has the longest bar.
export function nearness(rows, unknown) {
  return el("div", { class: "near" }, rows.map((row, i) => [
    who(row.name), el("span", { class: "scale" + (i ? "" : unknown ? " best low" : " best"), role: "img",
      "aria-label": `${row.name}: ${percent(row.share)} sure` }, el("i", { css: { "--w": percent(row.share).replace(" ", "") } })),
    el("b", {}, percent(row.share)),
  ]), el("div", { class: "ends" }, el("span", {}, "0 %"), el("span", {}, "100 % sure")));
}

let hide;
// toast says what was done, and offers to undo it.
export function toast(text, undo) {
  document.querySelector(".toast")?.remove();
  const t = el("div", { class: "toast", role: "status" }, el("span", {}, text),
    undo && el("button", { type: "button", onclick: () => { t.remove(); undo(); } }, "Undo"));
  document.body.append(t);
  clearTimeout(hide);
  hide = setTimeout(() => t.remove(), 15000);
}

// sheet opens a dialog, which Escape, its buttons and a click beside it close.
export function sheet(more, title, ...kids) {
  const before = document.activeElement;
  const dialog = el("dialog", { class: more, "aria-label": title }, ...kids);
  dialog.addEventListener("click", (e) => e.target === dialog && dialog.close());
  dialog.addEventListener("close", () => { dialog.remove(); before?.isConnected && before.focus?.({ preventScroll: true }); });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// sure asks before something is done.
export function sure(title, body, word, act, danger = false) {
  const dialog = sheet("", title, el("div", { class: "dlg" }, el("h2", {}, title), body, el("div", { class: "acts" },
    button("Cancel", () => dialog.close(), { class: "b ghost" }),
    button(word, () => { dialog.close(); act(); }, { class: "b primary yes" + (danger ? " danger" : "") }))));
  dialog.querySelector("input, .yes")?.focus();
  return dialog;
}

// typing says whether a key belongs to a field, to a dialog or to the browser.
export const typing = (e) => e.target.closest?.("input, select, textarea") || e.metaKey || e.ctrlKey || e.altKey || document.querySelector("dialog[open]");

// held says whether somebody points at an element or moves about in it by keys. A tap leaves :hover behind where nothing hovers.
export const held = (node) => node.matches(`:has(:focus-visible)${matchMedia("(hover: hover)").matches ? ", :hover" : ""}`);

// Numbers are for people: at most two figures of a time, and no more than needed of a share.
export const whole = new Intl.NumberFormat("en");
export const count = (n, what) => `${whole.format(n)} ${what}${n === 1 ? "" : "s"}`;
export const percent = (share) => `${Math.round(100 * share)} %`;
const words = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve"];
export const counted = (n, what) => `${words[n] ?? whole.format(n)} ${what}${n === 1 ? "" : "s"}`;
export const byName = (a, b) => a.localeCompare(b, "en", { numeric: true });
export const secondsSince = (time) => (Date.now() - new Date(time)) / 1000;
export function ago(s) {
  if (s < 2) return "now";
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.round(s / 3600)} h`;
  return s < 86400 * 3650 ? `${Math.floor(s / 86400)} d` : "long";
}
export const since = (s) => (s < 2 ? "now" : ago(s) + " ago");
const hours = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", hour12: false }); // made once: it takes longer than all that it formats
export const clock = (time) => hours.format(new Date(time));
export const moment = (time) => new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
