// Names: the list, and one name: where it was, its examples, what it is confused with, and every change with its undo. Before a
// change the page says what it moves.
import { ask, later, lead, main, onShell, said, shell } from "./shell.js";
import { changed, changes, undo } from "./changes.js";
import { ago, at, axis, badge, begun, button, byName, cam, choose, count, el, fill, icon, meter, moment, pageOf, panel, pic, quarters, sheet, since, slotOfCamera, stay, sure, tile, typing, whole, who } from "./parts.js";

let all = null, seen = new Map(), now = new URLSearchParams(location.search).get("name") || "", order = "seen", text = "", taught = null, visits = null, chosen_ = false;
const picked = new Set(), forgotten = {}; // ids of examples; names by when they were forgotten here
const list = el("ul", { id: "classes" }), detail = el("section", { class: "card detail", id: "class", "aria-label": "One name" }), top = el("div");
const input = el("input", { type: "search", placeholder: "Find a name", "aria-label": "Find a name", autocomplete: "off" });
input.addEventListener("input", () => { text = input.value.trim().toLowerCase(); showList(); });
const total = el("span", { class: "soft num" });
const book = el("div", { class: "book" }, panel("list", "Names", [total,
  choose("Order", [["seen", "last seen"], ["name", "A–Z"], ["confused", "confused"]], order, (v) => { order = v; showList(); }, "push")], el("label", { class: "field" }, icon("search"), input), list), detail);

const of = (name) => all.classes.find((c) => c.class === name) || { class: name, examples: 0, recent: 0, rejections: 0 };
const moves = (c) => `${count(c.examples, "example")} and ${count(c.recent, "recent item")}`;
const given = (name) => all.names.find((n) => n.name === name);
const times = (c) => (c.confused ? Math.ceil(c.confused.items) : 0);

async function act(what) {
  try {
    await what();
    await load();
  } catch (error) { said(error); }
}
const change = (text, requests, back, name = now) => act(async () => {
  for (const [path, body] of requests) await ask(path, body);
  picked.clear();
  changed({ text, undo: back, name }, load);
});
async function load() {
  const name = now, next = await ask("api/names"), where = (await ask("page/where")).seen;
  const into = next.names.find((n) => n.name === name)?.into || name;
  const examples = name ? await ask("api/examples?class=" + encodeURIComponent(name)) : null;
  const visited = name ? (await ask("page/where?name=" + encodeURIComponent(into))).seen[0] || null : null;
  if (name !== now) return; // another name was opened meanwhile, which is asked for
  next.classes = next.classes.filter((c) => !(Date.now() - forgotten[c.class] < 9000)); // some seconds pass until the stage has read it
  all = next;
  seen = new Map(where.map((s) => [s.name, s]));
  taught = examples;
  visits = visited;
  if (!book.isConnected) main.replaceChildren(top, book);
  if (!now && !chosen_ && innerWidth > 760 && all.classes.length) { // the one seen last
    chosen_ = true;
    now = [...all.classes].sort((a, b) => (seen.get(b.class)?.seen ?? 0) - (seen.get(a.class)?.seen ?? 0))[0].class;
    return load();
  }
  show();
}

function show() {
  const classes = all.classes, examples = classes.reduce((sum, c) => sum + c.examples, 0), named = classes.filter((c) => !c.class.startsWith("cluster-") && !all.names.some((n) => n.name === c.class && !n.stream)).length;
  const worst = [...classes].sort((a, b) => times(b) - times(a)).find((c) => c.confused);
  fill(top, `${named} ${examples} ${worst?.class}`, () => lead(named ? `${count(named, "name")}, taught with ${count(examples, "example")}.` : "Nothing has a name yet.",
    !named ? "Name something on Live or under Unknown, or give the stage labelled examples." : worst ? `Most confused: ${worst.class} and ${worst.confused.label}. Open a name to correct its examples; every change says what it moves before it happens.` : "Open a name to correct its examples; every change says what it moves before it happens.",
    worst && button("Open the most confused", () => open(worst.class), { class: "b primary" })));
  total.textContent = whole.format(classes.length);
  showList();
  showOne();
}

function showList() {
  const last = (c) => seen.get(given(c.class)?.into || c.class)?.seen ?? 0;
  const by = { seen: (a, b) => last(b) - last(a) || a.class.localeCompare(b.class), name: (a, b) => byName(a.class, b.class), confused: (a, b) => times(b) - times(a) || a.class.localeCompare(b.class) }[order];
  const rows = all.classes.filter((c) => c.class.toLowerCase().includes(text) || (given(c.class)?.into || "").toLowerCase().includes(text)).sort(by);
  const fresh = (c) => (last(c) ? ago(Date.now() / 1000 - last(c)) : "–");
  fill(list, JSON.stringify([now, rows.map((c) => [c, given(c.class)?.into, fresh(c)]), Object.keys(shell.marks).length]), () => rows.slice(0, 500).map((c) => {
    const name = given(c.class), also = name ? (name.into ? `, now called ${name.into}` : ", forgotten") : c.confused && times(c) > 1 ? `, confused with ${c.confused.label}` : "";
    return el("li", {}, el("button", { type: "button", class: "namerow", "data-name": c.class, "aria-current": c.class === now ? "true" : null, onclick: () => open(c.class) }, badge(c.class),
      el("span", { class: "cut" }, el("b", { class: "cut" }, c.class), el("small", { class: "cut" }, count(c.examples, "example") + also)), el("span", { class: "num" }, fresh(c))));
  }), !rows.length && el("li", { class: "foot" }, text ? `Nothing is called "${text}".` : "No names yet."));
}

function open(name) {
  now = name;
  taught = visits = null;
  picked.clear();
  history.replaceState(null, "", pageOf(name));
  book.classList.add("open");
  detail.shows = "";
  act(async () => { if (innerWidth <= 760) scrollTo(0, 0); });
}

const choice = (from, to, more) => el("div", { class: "change" }, badge(from, "l"), el("div", {}, el("b", {}, from), el("small", {}, more)), icon("right"), badge(to, "l"), el("b", {}, to));
const label = (value, says) => el("input", { value, "aria-label": says, maxlength: 200, autocomplete: "off", list: "labels" });

// rename asks for a new name; the name of something that there is merges into it.
function rename(title = `Rename ${now}`, value = "") {
  const name = now, field = label(value, "New name, or the name to merge it into"), streams = shell.cameras, says = el("p", { role: "status" });
  const scope = el("select", { "aria-label": "Where" }, el("option", { value: "" }, "on all cameras"), streams.map((s) => el("option", { value: s }, "only on " + s)));
  const tell = () => {
    const into = field.value.trim(), target = all.classes.find((c) => c.class === into);
    says.textContent = !into || into === name ? `${moves(of(name))} get the new name.` : target ? `${into} has ${moves(target)}. ${moves(of(name))} of ${name} are called so too then. Results that are written stay.` : `${moves(of(name))} are called ${into} then. It keeps its colour.`;
    dialog.querySelector(".yes").textContent = target && into !== name ? "Merge" : "Rename";
  };
  const dialog = sure(title, el("form", { class: "stack", onsubmit: (e) => { e.preventDefault(); dialog.querySelector(".yes").click(); } }, el("label", { class: "field" }, field), streams.length > 1 && el("label", { class: "field" }, scope), says, el("p", { class: "soft" }, "You can undo it at any time.")), "Rename", () => {
    const into = field.value.trim(), stream = scope.value || "";
    if (!into || into === name) return;
    const before = all.names.find((n) => n.name === name && (n.stream || "") === stream && n.into); // the name that this one replaces
    change(`${name} is called ${into}${stream && " on " + stream}`, [["api/names", { name, into, stream }]], [before ? ["api/names", { name, into: before.into, stream }] : ["api/names/undo", { name, stream }]]);
  });
  field.addEventListener("input", tell);
  tell();
}

function forgetName() {
  const name = now, field = el("input", { placeholder: name, "aria-label": `Type ${name} to go on`, autocomplete: "off" });
  const dialog = sure(`Forget ${name}?`, el("div", { class: "stack" }, el("p", {}, "All that is called so is deleted in every process. ", el("b", {}, "This cannot be undone.")),
    el("table", {}, el("tbody", {}, [[moves(of(name)), "at once"], ["its rejections", "at once"], ["what cameras learned of it", "with each camera's next answers"], ["the name itself, so that it stays forgotten", "kept"]].map(([a, b]) => el("tr", {}, el("th", { scope: "row" }, a), el("td", {}, b))))),
    el("label", { class: "stack" }, el("span", { class: "soft" }, `Type ${name} to go on`), el("span", { class: "field" }, field))), "Forget for ever", () => act(async () => {
    const { receipt } = await ask("api/names/forget", { name });
    now = "";
    forgotten[name] = Date.now();
    book.classList.remove("open");
    showReceipt(name, receipt);
  }), true);
  const go = dialog.querySelector(".yes");
  go.disabled = true;
  field.addEventListener("input", () => (go.disabled = field.value.trim() !== name));
  field.addEventListener("keydown", (e) => e.key === "Enter" && go.click());
}

function showReceipt(name, receipt) {
  const dialog = sheet("wide", `${name} is forgotten`, el("div", { class: "dlg" }, el("h2", {}, "It is forgotten."), el("p", {}, `This is what held ${name}, and until when.`),
    el("table", { id: "receipt" }, el("thead", {}, el("tr", {}, ["where", "what", "until"].map((t) => el("th", { scope: "col" }, t)))), el("tbody", {}, receipt.map((r) => el("tr", {}, [r.where, r.what, r.until].map((t) => el("td", {}, t)))))),
    el("div", { class: "acts" }, button("Close", () => dialog.close(), { class: "b primary" }))));
}

const chosen = () => taught.examples.filter((e) => picked.has(e.id));
const corrected = (list) => `${count(list.reduce((sum, e) => sum + e.moved, 0), "recent item")} that they corrected`;
function move(to = "") {
  const items = chosen(), name = now, ids = items.map((e) => e.id), field = label(to, "Their name");
  sure(`Move ${count(ids.length, "example")} of ${name}`, el("form", { class: "stack", onsubmit: (e) => { e.preventDefault(); document.querySelector("dialog .yes").click(); } }, to ? choice(name, to, `${whole.format(ids.length)} of ${count(taught.all, "example")}`) : el("label", { class: "field" }, field), el("p", {}, `They are taught under the other name. ${corrected(items)} follow.`), el("p", { class: "soft" }, "You can undo it in this tab.")), "Move", () => {
    const into = field.value.trim();
    if (into && into !== name) change(`${count(ids.length, "example")} of ${name} moved to ${into}`, [["api/split", { ids, label: into }]], [["api/split", { ids, label: name }]]);
  });
}
function reject() {
  const items = chosen(), name = now;
  sure(`${count(items.length, "example")}: not ${name}?`, el("p", {}, `They no longer count for ${name}, and items very like them are not called so. ${corrected(items)} get their answers back.`), "Not this", () => change(`${count(items.length, "example")} rejected: not ${name}`, items.map((e) => ["api/reject", { id: e.id, label: name }]), items.map((e) => ["api/teach", { id: e.id, label: name, stream: e.stream }])));
}
const takeBack = (items, text) => change(text, items.map((e) => ["api/forget", { id: e.id }]), items.flatMap((e) => (e.label ? [["api/teach", { id: e.id, label: e.label, stream: e.stream }]] : e.not.map((label) => ["api/reject", { id: e.id, label }]))));
function forget() {
  const items = chosen(), name = now;
  sure(`Take ${count(items.length, "example")} of ${name} back?`, el("p", {}, `They are no examples any more. ${corrected(items)} get their answers back.`), "Take back", () => takeBack(items, `${count(items.length, "example")} of ${name} taken back`));
}
function selectAll() {
  const every = picked.size === taught.examples.length;
  picked.clear();
  if (!every) for (const e of taught.examples) picked.add(e.id);
  showOne();
}

// linked are the identities that are called so, or have a cluster of this name on one of their cameras.
const linked = () => all.identities.filter((i) => i.name === now || i.clusters.some((c) => c.cluster === now)).slice(0, 20);

// sect is a part of a name's page: its title, what stands beside that and at the right, and what is below.
const sect = (title, beside, right, ...kids) => el("section", { class: "sect" }, el("header", {}, el("h2", {}, title), el("span", {}, beside), right), kids);

// where is when a name was before each camera, in the last eight hours.
function where() {
  if (!visits?.visits.length) return el("p", { class: "soft" }, "Not seen since this process started, or not in the last 8 hours.");
  const end = Math.max(Date.now() / 1000 - 3600 > visits.seen ? visits.seen : Date.now() / 1000, visits.seen), start = end - begun(end - Math.min(...visits.visits.map((v) => v.from)), 8 * 3600, quarters);
  const x = (t) => (100 * (Math.max(t, start) - start)) / (end - start), cameras = [...new Set(visits.visits.map((v) => v.camera).reverse())].slice(0, 8);
  return [cameras.map((camera) => {
    const own = visits.visits.filter((v) => v.camera === camera && v.to >= start), all = own.reduce((sum, v) => sum + v.to - v.from, 0);
    return el("div", { class: "row" }, cam(camera), el("div", { class: "track", role: "img", "aria-label": `${camera}: ` + own.slice(-3).map((v) => stay(v)).join(", ") },
      own.map((v) => el("i", { class: "c" + slotOfCamera(camera), title: stay(v), css: { left: x(v.from) + "%", width: Math.min(100 - x(v.from), x(v.to) - x(v.from)) + "%" } }))), el("span", {}, ago(Math.max(2, all))));
  }), axis(start, end, Date.now() / 1000)];
}

function example(e) {
  const by = e.by || "an example", when = e.at && new Date(e.at).getFullYear() > 1970 ? new Date(e.at).toLocaleDateString([], { day: "numeric", month: "short" }) : "", only = e.stream && "only on " + e.stream;
  const t = tile({ ...e, label: now }, () => { picked.delete(e.id) || picked.add(e.id); showOne(); detail.querySelector(`[data-id="${CSS.escape(e.id)}"]`)?.focus({ preventScroll: true }); },
    { "aria-pressed": String(picked.has(e.id)), title: [e.id, e.at && moment(e.at), only].filter(Boolean).join("\n"), "data-id": e.id }, el("span", { class: "m" }, el("span", { class: "cut" }, only || e.itemId || e.id), el("span", {}, when)));
  t.querySelector(".t").replaceChildren(el("span", { class: "cut" }, by));
  return t;
}

function history_() {
  const key = (n) => `${n.name} in ${n.stream || ""}`, mine = changes.filter((c) => c.name === now), done = new Set(changes.flatMap((c) => c.undo.map(([, body]) => body.name && key(body))));
  const before = all.names.filter((n) => (n.name === now || n.into === now) && !done.has(key(n))).reverse().slice(0, 20).map((n) => ({
    text: n.into ? `${n.name} is called ${n.into}${n.stream ? " on " + n.stream : ""}` : `${n.name} is forgotten, which cannot be undone`, by: n.by, at: n.at, undo: n.into ? [["api/names/undo", { name: n.name, stream: n.stream }]] : [],
  }));
  return [...mine, ...before];
}

function showOne() {
  if (!now || !taught) return fill(detail, "none", () => el("div", { class: "blank" }, el("span", { class: "mark" }, icon("names")), el("h2", {}, "Choose a name."), el("p", {}, "You see its examples, where it was, and what it is confused with.")));
  const c = of(now), name = given(now), mixed = [c.confused && [c.confused.label, times(c)], ...all.classes.filter((o) => o.confused?.label === now && o.class !== c.confused?.label).map((o) => [o.class, times(o)])].filter(Boolean).sort((a, b) => b[1] - a[1]).slice(0, 4);
  const log = history_(), other = mixed[0]?.[0], ones = linked();
  fill(detail, JSON.stringify([now, c, name, taught, visits, [...picked], log, mixed, ones, shell.teach, Object.keys(shell.marks).length, Math.floor(Date.now() / 10000)]),
    () => el("div", { class: "title" }, button(icon("back"), () => { book.classList.remove("open"); }, { class: "b ghost icon only-phone", "aria-label": "Back to all names" }), badge(now, "xl"), el("div", {}, el("h1", {}, now),
      el("p", { class: "soft", id: "class-about" }, name?.into ? `Now called ${name.into}. ` : "", visits ? `${ago(Date.now() / 1000 - visits.seen) === "now" ? "In view now" : `Last seen ${since(Date.now() / 1000 - visits.seen)}`} at ${visits.camera}. ` : "Not seen lately. ", `${moves(c)}.`)),
      shell.teach && el("div", { class: "acts" }, button([icon("pen"), "Rename"], () => rename(), { "aria-keyshortcuts": "r" }), button([icon("merge"), "Merge"], () => rename(`Merge ${now}`, other || "")), button("Forget", forgetName, { class: "b danger" }))),
    () => sect("Where it was", "the last 8 h at most", el("span", { class: "push" }, "time in view"), where()),
    () => ones.length > 0 && sect("One thing on several cameras", "as the cameras' clusters look alike", null, el("ul", { class: "log", id: "linked" }, ones.map((i) => el("li", {}, el("span", {}, `${i.name}: `, i.clusters.slice(0, 20).map((c) => `${c.cluster} on ${c.stream}`).join(", "), i.clusters.length > 20 && ` and ${i.clusters.length - 20} more`))))),
    () => sect("Examples", taught.examples.length ? `all that its name rests on${taught.all > taught.examples.length ? `; the latest ${whole.format(taught.examples.length)} of ${whole.format(taught.all)}` : ""}` : "none",
      shell.teach && taught.examples.length > 0 && button(picked.size === taught.examples.length ? "Select none" : "Select all", selectAll, { class: "b ghost push", "aria-keyshortcuts": "a" }), el("div", { class: "ex", id: "examples", role: "group", "aria-label": "Examples; select those to act on" }, taught.examples.map(example))),
    () => picked.size > 0 && el("div", { class: "selbar", role: "toolbar", "aria-label": "Selected examples" }, el("b", {}, `${picked.size} selected`), other && button([icon("merge"), `Move to ${other}`], () => move(other), { class: "b primary" }), button("Another name", () => move(), { class: other ? "b" : "b primary", "aria-keyshortcuts": "m" }), button(["Not this"], reject, { "aria-keyshortcuts": "x" }), button("Take back", forget, { "aria-keyshortcuts": "Delete" })),
    () => taught.rejections.length > 0 && sect(`Not ${now}`, "what people said is not so called", null, el("div", { class: "ex", id: "rejections" }, taught.rejections.map((r) => el("div", {}, pic({ ...r, label: "" }), shell.teach && button([icon("undo"), "Undo"], () => takeBack([r], `${r.itemId || r.id} may be ${r.not.join(", ")} again`), { class: "b ghost" }))))),
    () => el("div", { class: "two" }, sect("Confused with", "answers in doubt between the two", null, mixed.length ? el("ul", { class: "mix" }, mixed.map(([n, t]) => el("li", {}, who(n, "button", { type: "button", onclick: () => open(n) }), meter(t / (1.07 * Math.max(mixed[0][1], 9))), el("span", { class: "num" }, count(t, "item"))))) : el("p", { class: "soft" }, "Nothing so far.")),
      sect("Changes", "newest first", null, log.length ? el("ul", { class: "log", id: "changes" }, log.map((l) => el("li", {}, el("span", {}, l.text, l.by && el("span", { class: "soft" }, ` · ${l.by}`)), l.at && el("time", {}, moment(l.at)), shell.teach && l.undo.length > 0 && button([icon("undo"), "Undo"], () => act(() => undo(l)), { class: "b ghost" })))) : el("p", { class: "soft", id: "changes" }, "None."))));
}

document.addEventListener("keydown", (e) => {
  if (typing(e) || !now || !taught || !shell.teach) return;
  const keys = { a: selectAll, m: () => picked.size && move(), x: () => picked.size && reject(), Delete: () => picked.size && forget(), r: () => rename() };
  if (!keys[e.key]) return;
  e.preventDefault();
  keys[e.key]();
});

if (now) book.classList.add("open");
onShell(() => document.querySelector("dialog[open]") || load().catch((error) => later(error)));
