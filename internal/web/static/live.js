// Live: the cameras, who was where, the latest items; or the demo, where the stage says that it is one.
import { ask, find, later, lead, link, main, onShell, shell } from "./shell.js";
import { ago, axis, begun, button, byName, cam, cams, choose, clock, count, counted, el, fill, icon, pageOf, panel, percent, pic, quarters, since, slotOfCamera, spark, stay, typing, whole, who } from "./parts.js";
import { follow } from "./feed.js";
import { open } from "./item.js";
import { Demo } from "./demo.js";
import { Latest } from "./latest.js";
import { details, take } from "./details.js";

const params = new URLSearchParams(location.search);
const silentAfter = 600; // seconds
// The demo shows its own page, unless somebody looks for something or asks for the usual one.
const usual = params.has("usual") || params.has("find");
let filter = params.get("camera") || "", all = false, span = 60, order = "rate", seen = null, demo = null, asking = false, again = false;
find.value = params.get("find") || "";
const text = () => find.value.trim().toLowerCase();
const quiet = (s) => !s.moved && seen.now - Date.parse(s.seen) / 1000 > silentAfter;

const top = el("div"), list = el("ul", { id: "cameras" }), rowBox = el("div", { class: "rows", id: "where" }), foot = el("div", { class: "foot" }), chip = el("span", { class: "push" }), strangers = el("ul", { id: "strangers" });
const filterInput = el("input", { type: "search", placeholder: "Filter cameras", "aria-label": "Filter cameras", autocomplete: "off" });
filterInput.addEventListener("input", showCameras);
const number = el("span", { class: "soft num" }), elsewhere = el("p", { class: "foot", id: "elsewhere" });
const filterField = el("label", { class: "field" }, icon("search"), filterInput);
const cameraCard = panel("cams", "Cameras", [number,
  choose("Order", [["rate", "busy"], ["unknown", "unknown"], ["seen", "silent"]], order, (v) => { order = v; showCameras(); }, "push")], filterField,
el("div", { class: "camrow camhead", "aria-hidden": "true" }, ["camera", "last hour", "unknown", "seen"].map((t) => el("span", {}, t))), list, elsewhere);
const strangerCard = panel("strangers", "No name yet", el("span", { class: "soft" }, "the largest groups"), strangers);
const whereCard = panel("where", "Who was where", [el("span", { class: "soft" }, "last seen first"), chip,
  choose("Span", [[15, "15 min"], [60, "1 h"], [480, "8 h"]], span, (v) => { span = v; load(); })], rowBox, foot);
const latest = new Latest((item) => open(item, (label) => latest.taught(item.id, label)), (item) => (!filter || item.stream === filter) && `${item.unknown ? "" : item.label}\n${item.stream}`.toLowerCase().includes(text()));
const split = el("div", { class: "split" }, el("div", { class: "stack side" }, cameraCard, strangerCard), el("div", { class: "stack" }, whereCard, latest.card));

function choosing(camera) {
  filter = filter === camera ? "" : camera;
  load();
  latest.show();
}

function showLead() {
  const streams = seen.streams.filter((s) => !s.moved), n = streams.length, silent = streams.filter(quiet), rate = streams.reduce((sum, s) => sum + s.perMinute, 0), groups = shell.groups;
  const answered = streams.reduce((sum, s) => sum + s.answered, 0), unknown = streams.reduce((sum, s) => sum + s.unknown, 0);
  const { lag, lagSeconds } = shell.status, late = lagSeconds > silentAfter;
  const cameras = !n ? "No camera has sent anything since the start" : n === 1 ? (silent.length ? `The camera ${streams[0].stream} is silent` : `One camera is answering: ${streams[0].stream}`) : silent.length ? `${n - silent.length} of ${n} cameras are answering` : n === 2 ? "Both cameras are answering" : `All ${n} cameras are answering`;
  const cut = lag < 0 && shell.status.troubles?.length;
  const title = cut ? "No camera is answered now." : late ? `The names below are ${ago(lagSeconds)} old.` : groups ? `${cameras}, and ${groups === 1 ? "one group has" : counted(groups, "group").toLowerCase() + " have"} no name.` : `${cameras}.`;
  const longest = [...silent].sort((a, b) => a.seen.localeCompare(b.seen))[0];
  const known = seen.known.length, before = known > 0 && (n ? `${counted(known, "camera")} from before ${known === 1 ? "has" : "have"} sent nothing since the start.` : `${counted(known, "camera")} and the names are known from before; names appear with the next items.`);
  const says = cut ? "You see what was known." : late ? "The stage reads what it has missed, and catches up. Nothing is lost meanwhile." : [longest && `The camera ${longest.stream} has been silent for ${ago(seen.now - Date.parse(longest.seen) / 1000)}.`, before, seen.groups[0] && `Naming the largest group settles ${count(seen.groups[0].count, "item")}.`].filter(Boolean).join(" ") || (shell.waiting ? "The stage asks about the items that would teach it most." : "Nothing waits for you.");
  const stat = (what, value) => el("div", { class: "stat" }, el("dt", {}, what), el("dd", {}, value));
  const behind = lag < 0 ? "not known" : lagSeconds < 1 ? `${lagSeconds.toFixed(1)} s` : ago(lagSeconds);
  fill(top, JSON.stringify([title, says, Math.round(rate), behind, unknown, answered, shell.waiting, groups, shell.teach]), () => lead(title, says,
    shell.teach && (groups > 0 || shell.waiting > 0) && [groups > 0 && link(groups === 1 ? "Name the group" : `Name the ${counted(groups, "group").toLowerCase()}`, "unknown", shell.waiting ? "" : "primary"), shell.waiting > 0 && link(`Review ${count(shell.waiting, "item")}`, "review", "primary")],
    el("dl", { class: "stats" }, stat("answers a minute", whole.format(rate < 1000 ? Math.round(rate) : 10 * Math.round(rate / 10))), stat("unknown", answered ? percent(unknown / answered) : "–"), stat("behind", behind))));
}

function showCameras() {
  const by = { rate: (a, b) => b.answered - a.answered, unknown: (a, b) => quiet(a) - quiet(b) || share(b) - share(a), seen: (a, b) => a.seen.localeCompare(b.seen) }[order];
  const wanted = filterInput.value.trim().toLowerCase();
  const first = Math.min(...seen.streams.map((s) => s.rate?.findIndex((n) => n) ?? 0)), rates = (s) => s.rate.slice(-begun(s.rate.length - first, s.rate.length, 5));
  const streams = seen.streams.filter((s) => s.stream.toLowerCase().includes(wanted) && (!text() || s.stream.toLowerCase().includes(text()) || seen.where.some((w) => w.visits.some((v) => v.camera === s.stream)))).sort((a, b) => Boolean(a.moved) - Boolean(b.moved) || by(a, b) || byName(a.stream, b.stream)); // another process has the moved ones now
  number.textContent = whole.format(seen.streams.length + seen.known.length);
  filterField.hidden = seen.streams.length + seen.known.length < 7;
  const known = seen.known.filter((name) => name.toLowerCase().includes(wanted) && name.toLowerCase().includes(text())).sort(byName);
  fill(list, JSON.stringify([filter, known, streams.map((s) => [s, ago(seen.now - Date.parse(s.seen) / 1000)])]), () => streams.slice(0, 200).map((s) => {
    const silent = s.moved || quiet(s), fresh = s.moved ? "moved" : ago(Math.max(0, seen.now - Date.parse(s.seen) / 1000));
    return el("li", {}, el("button", { type: "button", class: "camrow" + (silent ? " quiet" : ""), "aria-pressed": String(filter === s.stream), title: s.moved ? "Another process answers it now" : `${Math.round(s.perMinute)} a minute now, ${count(s.waiting, "item")} to review`, onclick: () => choosing(s.stream) },
    cam(s.stream), s.rate ? spark(rates(s)) : el("span"), el("span", { class: share(s) > 0.1 && !silent ? "hot" : "" }, silent ? "–" : percent(share(s)), el("span", { class: "vh" }, " unknown, seen ")), el("span", { class: quiet(s) ? "bad" : "" }, fresh)));
  }), () => known.map((name) => el("li", { class: "camrow quiet", title: "Known from before; it has sent nothing since the start" }, cam(name), el("span"), el("span", {}, "–"), el("span", {}, "before"))));
  const others = seen.elsewhere.filter((address) => /^https?:/.test(address));
  elsewhere.hidden = !others.length;
  fill(elsewhere, others.join(), "Other cameras are at ", others.map((address) => el("a", { class: "b", href: address }, address.replace(/^https?:\/\/|\/$/g, ""))));
}
const share = (s) => (s.answered ? s.unknown / s.answered : 0);

function showRows() {
  const end = seen.until, oldest = Math.min(end, ...seen.where.flatMap((r) => r.visits.map((v) => v.from))), seconds = begun(end - oldest, 60 * span, quarters), x = (t) => 100 - (100 * Math.min(seconds, end - t)) / seconds, one = seen.streams.length === 1;
  rowBox.classList.toggle("filtered", Boolean(filter));
  fill(chip, filter, filter && (() => el("button", { type: "button", class: "chip", title: "Show all cameras again", onclick: () => choosing(filter) }, cam(filter), icon("close"))));
  const row = (r) => el("div", { class: "row" }, who(r.name, "a", { href: pageOf(r.name) }), el("div", { class: "track", role: "img", "aria-label": `${r.name}: ` + r.visits.slice(-3).map((v) => `${v.camera} ${stay(v)}`).join(", ") },
    r.visits.map((v) => el("i", { class: `c${slotOfCamera(v.camera)}${v.camera === filter ? " on" : ""}`, title: `${v.camera}, ${stay(v, end - v.to < 60 ? "now" : undefined)}`, onclick: () => choosing(v.camera), css: { left: `${Math.max(0, x(v.from))}%`, width: `calc(${Math.max(0, Math.min(100, x(v.to)) - Math.max(0, x(v.from)))}% - 1px)` } }))),
  el("span", { class: "last" }, cam(r.camera), el("span", {}, ago(seen.now - r.seen))));
  fill(rowBox, JSON.stringify([seen.where, filter, span, Math.floor(end / (span > 60 ? 30 : 4)), Object.keys(shell.marks).length]), () => (seen.where.length ? [seen.where.map(row), axis(end - seconds, end, seen.now)] : el("p", { class: "foot" }, text() ? `Nothing called "${find.value.trim()}" was seen lately.` : "Nobody with a name was seen lately.")));
  fill(foot, `${seen.names} ${all} ${filter} ${one}`, seen.names > 14 && (() => button(all ? "Show the latest 14" : `Show all ${seen.names} names`, () => { all = !all; load(); }, { class: "b ghost" })), () => el("span", { class: "soft" }, filter ? `Coloured: ${filter}. Everything else is pale.` : one ? "" : "Colour is the camera. Click a camera to see it alone."));
}

function showStrangers() {
  strangerCard.hidden = !seen.groups.length;
  fill(strangers, JSON.stringify([seen.groups.map((g) => [g.count, g.last]), shell.teach]), () => seen.groups.map((g) => el("li", {}, pic({ ...g.middle, unknown: true }, "square"), el("div", {}, el("p", {}, count(g.count, "item")), el("small", {}, cams(g.streams, 1), el("span", {}, `last ${clock(g.last)}`))), shell.teach && link("Name it", "unknown#" + encodeURIComponent(g.teach[0])))));
}

function blank() {
  const { dead } = shell.status;
  fill(main, "blank" + dead, () => el("section", { class: "card blank" }, el("span", { class: "mark" }, icon("camera")), el("h1", {}, dead ? `Not one of ${count(dead, "record")} could be used.` : "No camera has sent anything yet."),
    el("p", {}, dead ? "Feed or settings are wrong. These say which:" : "The stage waits for items. Point your cameras at it, or send it a file:"),
    el("pre", { tabindex: "0" }, dead ? "slkstream dead list\nslkstream check" : `slkstream sample sample\nslkstream feed --input sample/items.jsonl --key cam-7 ${seen.feed} --rate 50 --loop`), !dead && el("p", {}, "With ", el("code", {}, "slkstream demo"), " all is there.")));
}

async function load() {
  again = asking;
  if (asking || demo) return;
  asking = true;
  try {
    const query = new URLSearchParams({ span, names: all ? 200 : 14, camera: filter, find: text() });
    seen = await ask("page/live?" + query);
    if (demo) return;
    if (!seen.streams.length && !seen.known.length && !latest.any()) return blank();
    if (!split.isConnected) main.replaceChildren(top, split, details());
    main.shows = "";
    const alone = seen.streams.length + seen.known.length === 1 && !seen.elsewhere.length;
    split.classList.toggle("single", alone && !seen.groups.length);
    cameraCard.hidden = alone;
    for (const part of [showLead, showCameras, showRows, showStrangers, () => latest.show()]) { // each in a frame of its own, so that none is long
      await new Promise(requestAnimationFrame);
      part();
    }
  } catch (error) { later(error); } finally {
    asking = false;
    if (again) load();
  }
}
find.addEventListener("input", load);
find.addEventListener("change", () => demo && (location.href = "./?find=" + encodeURIComponent(find.value)));

follow({
  hello(hello) {
    if (hello.demo && !demo && !usual) {
      demo = new Demo(hello.demo);
      main.replaceChildren(demo.box, demo.taught, details());
    }
    demo?.score(hello.score);
  },
  score: (score) => demo?.score(score),
  first: (items) => (demo || latest).first(items),
  settled: (items) => (demo || latest).settle(items),
  episode: (episode) => { (demo || latest).episode(episode); take(episode); },
});
document.addEventListener("keydown", (e) => e.key === "p" && !typing(e) && (demo || latest).pause());
let colours = "";
onShell(() => {
  const now = JSON.stringify(shell.marks);
  if (now !== colours) latest.paint();
  colours = now;
  if (demo) demo.refresh();
  else load();
});
