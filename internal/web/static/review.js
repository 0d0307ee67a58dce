// Review: one item large, the best example of its name and of the runner-up beside it; one key an answer; several at once;
// everything can be undone. It speaks to the same API as any other labelling tool.
import { ask, main, onShell, said, shell } from "./shell.js";
import { badge, button, cam, choose, count, el, fill, icon, key, meter, nearness, pic, secondsSince, since, tile, toast, typing, whole } from "./parts.js";
import { decided, named, nearly, nobody, numbered, rows, why } from "./item.js";

const together = 12; // items taken where several are answered at once
const holder = sessionStorage.who ||= "page-" + crypto.getRandomValues(new Uint32Array(2)).join("-");
const keys = []; // the names of the digits; each keeps its digit while the page is open
const selected = new Set(); // ids
let items = [], back = [], labels = [], waiting = 0, different = 0, several = Boolean(sessionStorage.several), doing = Promise.resolve(), busy = 0, done = 0, loaded = false, since_ = {};
const session = JSON.parse(sessionStorage.answers || "[]"); // what was answered in this tab, the latest first

const box = el("section", { class: "card ask" }), side = el("section", { class: "card said", "aria-label": "Your answers" });
const typed = el("input", { id: "name", placeholder: "Another name", "aria-label": "Another name", maxlength: 200, list: "labels", autocomplete: "off" });
typed.addEventListener("keydown", (e) => e.key === "Enter" && typed.value.trim() && teach(typed.value.trim()));

const current = () => items.find((item) => selected.has(item.id)) || items[0];
const chosen = () => (selected.size ? items.filter((item) => selected.has(item.id)) : several ? [] : items.slice(0, 1));
const guessed = (list) => list.filter(named);

// act does what is asked one after the other, and shows what came of each.
function act(what) {
  busy++;
  doing = doing.then(what).then(next).catch(said).finally(() => { busy--; });
}

// answer does requests for items, and remembers how they are undone. Items that an earlier answer took are left out.
function answer(list, text, requests, undo = (item) => ["api/forget", { id: item.id }]) {
  const ids = list.map((item) => item.id);
  if (ids.length) act(async () => {
    const left = items.filter((item) => ids.includes(item.id));
    if (!left.length) return;
    for (const [path, body] of requests(left)) await ask(path, body);
    items = items.filter((item) => !left.includes(item));
    back = back.filter((item) => !left.includes(item));
    selected.clear();
    typed.value = "";
    const entry = { text: text(left), items: left.map(({ vector, ...item }) => item), undo: left.map(undo).filter(Boolean), at: Date.now() };
    session.unshift(entry);
    session.splice(20);
    done += left.length;
    keep();
    toast(entry.text + (left.length > 1 ? ` (${left.length} items)` : "") + ".", () => undoing(entry));
    show();
  });
}
const keep = () => { sessionStorage.answers = JSON.stringify(session.map((entry) => ({ ...entry, items: entry.items.slice(0, 12).map((item) => ({ ...item, image: item.image?.length > 6000 ? "" : item.image })) }))); };
function undoing(entry) {
  if (entry.undone) return;
  entry.undone = true; // at once, so that the next Z takes back the answer before
  act(async () => {
    try {
      for (const [path, body] of entry.undo) await ask(path, body);
    } catch (error) {
      entry.undone = false;
      throw error;
    }
    done = Math.max(0, done - entry.items.length);
    back = [...entry.items, ...back];
    keep();
    toast("Taken back.");
  });
}

const split = (list, label) => ["api/split", { ids: list.map((item) => item.id), label }];
const teach = (label) => answer(chosen(), () => `It is ${label}`, (list) => [split(list, label)]);
const agree = () => answer(several && !selected.size ? guessed(items) : guessed(chosen()), (list) => (list.length > 1 ? "Yes, each its own name" : `Yes, ${list[0].label}`),
  (list) => [...new Set(list.map((item) => item.label))].map((label) => split(list.filter((item) => item.label === label), label)));
const reject = () => answer(guessed(chosen()), (list) => `Not ${[...new Set(list.map((item) => item.label))].join(", ")}`, (list) => list.map(({ id, label }) => ["api/reject", { id, label }]));
const skip = () => answer(chosen(), () => "Skipped", (list) => list.map(({ id }) => ["api/review/skip", { id, who: holder }]), () => null);

async function next() {
  const queue = await ask("api/review", { who: holder, count: several ? together : 1 });
  labels = queue.labels;
  for (const label of labels) if (keys.length < 9 && label !== nobody && !keys.includes(label)) keys.push(label);
  ({ waiting, different } = queue);
  items = [...back, ...queue.items.filter((item) => !back.some((b) => b.id === item.id))].slice(0, several ? together : 1);
  for (const id of selected) if (!items.some((item) => item.id === id)) selected.delete(id);
  const state = await ask("api/state");
  since_ = Object.fromEntries(state.taught.map((t) => [t.id, t.since]));
  loaded = true;
  show();
}

// other buttons, in the order of their digits, then names that are used less
function others(item) {
  const likely = item ? [item.label, ...(item.alternatives || []).map((a) => a.label)] : [];
  const list = [...new Set([...keys, ...likely, ...labels])].filter((label) => !numbered(label) && label !== nobody).slice(0, 14);
  return el("div", { class: "others", id: "choices", role: "group", "aria-label": "Names; digit keys choose" }, list.map((label) => {
    const digit = keys.indexOf(label) + 1;
    return button([badge(label), label, digit ? key(digit) : ""], () => teach(label), { class: "chip", "data-label": label, "data-digit": digit || null, disabled: !chosen().length });
  }), el("label", { class: "field" }, icon("pen"), typed));
}
const big = (id, text, k, act, attributes = {}) => button([text, key(k.toUpperCase())], act, { id, "aria-keyshortcuts": k, ...attributes, class: "b big " + (attributes.class || "") });

function progress() {
  const all = done + different;
  return el("div", { class: "progress" }, meter(all ? done / all : 0, "a"), el("span", { class: "num", title: `${whole.format(waiting - different)} more ask the same as another` }, different ? `${whole.format(done)} of ${whole.format(all)} done` : `${whole.format(done)} done; ${whole.format(waiting)} more ask the same again`),
    choose("How many at a time", [[false, "One"], [true, "Several"]], several, (v) => { if (v !== several) toggle(); }));
}

function show() {
  if (!loaded || shell.readOnly) return;
  const item = current(), none = { disabled: !selected.size, title: selected.size ? "" : "Select some first" };
  const state = JSON.stringify([several, items.map((i) => i.id), [...selected], waiting, different, done, keys, labels, shell.teach, Boolean(item), Object.keys(shell.marks).length]);
  if (!item) showNothing();
  else if (several) fill(box, state, progress, () => el("h1", {}, selected.size > 1 ? `${selected.size} selected: one answer for all.` : "Which of these are the same?"),
    () => el("p", { class: "sub" }, el("span", {}, "Select those that are alike, then answer them together. Yes teaches each its own name.")),
    () => el("div", { class: "bulk", id: "queue", role: "group", "aria-label": "Items that wait; select those that one answer fits" }, items.map((i) => tile({ ...i, settled: true }, () => { selected.delete(i.id) || selected.add(i.id); show(); restore(i.id); }, { "aria-pressed": String(selected.has(i.id)), "data-id": i.id }))),
    () => shell.teach && el("div", { class: "answers" },
      big("yes", selected.size ? `Yes, all ${selected.size}` : "Yes, all shown", "y", agree, { class: "primary", disabled: !guessed(selected.size ? chosen() : items).length }),
      big("not", "Not this", "x", reject, { ...none, disabled: !guessed(chosen()).length }), big("nobody", "Nobody", "n", () => teach(nobody), none),
      big("skip", "Skip", "s", skip, none)), () => shell.teach && others());
  else showOne(item, state);
  showSession();
}

// restore keeps the focus on the tile that was pressed, which is drawn anew.
const restore = (id) => box.querySelector(`[data-id="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });

function showNothing() {
  fill(box, "nothing" + shell.teach, () => el("div", { class: "blank" }, el("span", { class: "mark" }, icon("good")), el("h1", {}, "Nothing to review."),
    el("p", {}, "New items come by themselves: those that would teach most. You can close this page."), el("div", { class: "acts" }, el("a", { class: "b", href: "./" }, "Back to Live"))));
}

const beside = (name, what, content) => el("figure", { "data-name": name }, el("p", {}, badge(name), el("b", { class: "cut" }, name), el("span", {}, what)), content);

function showOne(item, state) {
  const known = named(item), other = (item.alternatives || [])[0], offered = nearly(item);
  const close = (known || item.unknown) && other && other.confidence > item.confidence / 2 ? `Asked because ${other.label} is nearly as likely.` : known ? "Asked because many are like it." : item.unknown ? "Asked because it is unlike every example." : `One of the group ${item.label}, which nobody has named.`;
  const sub = el("span", {}, close), trio = el("div", { class: "trio" }, el("figure", { class: "it" }, el("p", {}, el("b", {}, "This one")), el("span", { id: "picture", "data-id": item.id }, pic(item, "square"))));
  const digit = keys.indexOf(offered) + 1;
  fill(box, state, progress, () => el("h1", { id: "question" }, known ? `Is this ${item.label}?` : "What is this?"),
    () => el("p", { class: "sub" }, cam(item.stream), el("span", {}, since(secondsSince(item.time))), sub), () => trio, () => nearness(rows(item), item.unknown),
    () => (shell.teach ? el("div", { class: "answers" },
      known ? big("yes", `Yes, ${item.label}`, "y", agree, { class: "primary" }) : big("named", "Name it", "r", () => typed.focus(), { class: "primary" }),
      offered && button([known ? `No, ${offered}` : `It is ${offered}`, digit ? key(digit) : ""], () => teach(offered), { class: "b big" }),
      big("not", "Not this", "x", reject, { class: "ghost", disabled: !known, title: known ? `It is not ${item.label}, and I do not know what it is` : "It has no name that could be wrong" }),
      big("nobody", "Nobody", "n", () => teach(nobody), { class: "ghost", title: "A false detection, or somebody just passing" }), big("skip", "Skip", "s", skip, { class: "ghost", title: "Somebody else may know it" }))
      : el("p", { class: "readonly" }, icon("eye"), "To teach, start the stage with --labels TOPIC.")), () => shell.teach && others(item));
  if (trio.isConnected) why(item).then((reasons) => {
    const names = [item.label, other?.label ?? reasons[1]?.label].filter(Boolean);
    for (const [i, name] of names.entries()) {
      const best = reasons.find((r) => r.label === name)?.examples[0];
      trio.append(beside(name, i ? "runner-up" : "best example", best ? pic({ ...best, label: name }, "square") : pic({ label: name }, "square")));
    }
    const says = decided(item, reasons);
    if (says.includes(";") || !known) sub.textContent = `${close} ${says}`;
  }, () => {}); // nobody knows any more
}

function showSession() {
  const follow = (entry) => (entry.undone ? "taken back" : entry.text === "Skipped" ? "somebody else may know it" : entry.text.startsWith("Not ") ? "items very like it are not called so either"
    : entry.items.some((i) => since_[i.id]) ? `${count(Math.max(...entry.items.map((i) => since_[i.id] || 0)), "answer")} called so since` : "counts from the next answers on");
  const given = session.filter((entry) => !entry.undone).length;
  fill(side, JSON.stringify([session.map((e) => [e.at, e.undone, follow(e)]), shell.teach, Object.keys(shell.marks).length]), () => el("div", { class: "head" }, el("h2", {}, "Your answers"), el("span", { class: "soft num push" }, given ? String(given) : "")),
    () => (session.length ? el("ul", { id: "said" }, session.slice(0, 9).map((entry) => el("li", { class: entry.undone ? "undone" : "" }, pic(entry.items[0], "square"),
      el("div", {}, el("p", { class: "cut" }, entry.text + (entry.items.length > 1 ? ` · ${entry.items.length}` : "")), el("small", {}, follow(entry))),
      !entry.undone && button([icon("undo"), "Undo"], () => undoing(entry), { class: "b ghost" })))) : el("p", { class: "foot" }, "Your answers appear here. Each one can be undone, rejections too.")),
    () => el("div", { class: "keys" }, [["Y", "yes"], ["1–9", "a name"], ["X", "not this"], ["N", "nobody"], ["S", "skip"], ["M", "several"], ["A", "select all"], ["Z", "undo the last"]].map(([k, text]) => [key(k), el("span", {}, text)])));
}

function toggle() {
  several = !several;
  sessionStorage.several = several ? "yes" : "";
  selected.clear();
  act(async () => {});
}
function all() {
  if (!several) return;
  const every = selected.size === items.length;
  selected.clear();
  if (!every) for (const item of items) selected.add(item.id);
  show();
}

document.addEventListener("keydown", (e) => {
  if (typing(e)) return;
  const k = e.key.toLowerCase();
  if (/^[1-9]$/.test(k)) box.querySelector(`#choices [data-digit="${k}"]`)?.click();
  else if (k === "m") toggle();
  else if (k === "a") all();
  else if (k === "z") session.find((entry) => !entry.undone && (undoing(entry), true));
  else if (box.querySelector(`[aria-keyshortcuts="${CSS.escape(k)}"]`)) {
    e.preventDefault();
    box.querySelector(`[aria-keyshortcuts="${CSS.escape(k)}"]`).click();
  }
});

onShell(() => {
  if (!loaded) main.replaceChildren(el("div", { class: "review" }, box, side));
  if (shell.readOnly) { // it holds items that others could answer
    fill(box, "reads", () => el("div", { class: "blank" }, el("span", { class: "mark" }, icon("eye")), el("h1", {}, "Reviewing is teaching."), el("p", { class: "readonly" }, "Your token only reads. Ask for the other one to answer.")));
    side.hidden = true;
    loaded = true;
  } else if (!busy) act(async () => {});
});
