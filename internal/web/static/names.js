// The names: each class with its examples, and what may be done with them. Every change says what it moves before it is
// done, and can be taken back.
import { ask, at, button, changed, changes, count, keep, live, make, moment, offer, said, sure, typing, whole } from "./dom.js";
import { picture } from "./tile.js";

let all = { classes: [], names: [] }, chosen = "", shown = [], seen = "";
const selected = new Set(); // ids of examples

const of = (name) => all.classes.find((c) => c.class === name) || { class: name, examples: 0, recent: 0, rejections: 0 };
const moves = (c) => `${count(c.examples, "example")} and ${count(c.recent, "recent item")}`;

// act does something and shows what came of it.
async function act(what) {
  try {
    said(null);
    await what();
    await refresh();
  } catch (error) {
    said(error);
  }
}

// change does what is asked, and remembers how it is undone: requests with a path and a body.
const change = (text, requests, undo) => act(async () => {
  for (const [path, body] of requests) await ask(path, body);
  changed({ text, undo });
  selected.clear();
});

// refresh draws what has changed since it was drawn last, so that nothing moves under the hand.
async function refresh() {
  all = await ask("api/names");
  const taught = chosen && await ask("api/examples?class=" + encodeURIComponent(chosen));
  live("live", "live");
  const now = JSON.stringify([chosen, changes, all, taught]);
  if (now === seen) return;
  seen = now;
  offer(at("labels"), all.labels);
  at("about").textContent = `${whole.format(all.classes.length)} in all`;
  at("classes").replaceChildren(...all.classes.map(row));
  showChanges();
  if (chosen) showClass(taught);
}

function row(c) {
  const name = all.names.find((n) => n.name === c.class);
  const called = name && (name.into ? `→ ${name.into}` : "forgotten");
  const line = make("tr", {});
  line.insertCell().append(button(c.class, () => choose(c.class), { ariaCurrent: String(c.class === chosen) }), called ? ` ${called}` : "");
  for (const text of [whole.format(c.examples), whole.format(c.recent), c.confused ? `${c.confused.label}, about ${count(Math.ceil(c.confused.items), "time")}` : "–"]) {
    line.insertCell().textContent = text;
  }
  return line;
}

const choose = (name) => act(async () => {
  chosen = name;
  selected.clear();
  const { streams } = await ask("api/streams");
  at("scope").replaceChildren(new Option("in all streams", ""), ...streams.map((s) => new Option("only in " + s.stream, s.stream)));
});

function showClass(taught) {
  const c = of(chosen);
  shown = taught.examples;
  at("class").hidden = false;
  at("class-title").textContent = chosen;
  at("class-about").textContent = moves(c) + (taught.all > shown.length ? `; the latest ${shown.length} are shown` : "");
  at("examples").replaceChildren(...shown.map(tile));
  at("rejected").hidden = taught.rejections.length === 0;
  at("rejections").replaceChildren(...taught.rejections.map((r) => make("figure", {}, picture({ ...r, name: r.id }), button("undo", () => takeBack([r], `${r.id} may be ${r.not.join(", ")} again`)))));
  showActs();
}

function tile(e) {
  const text = [e.by, e.at && moment(e.at), e.stream && "only in " + e.stream].filter(Boolean).join(", ") || e.id;
  const tile = button(picture({ ...e, name: e.id }), () => {
    selected.has(e.id) ? selected.delete(e.id) : selected.add(e.id);
    tile.ariaPressed = String(selected.has(e.id));
    showActs();
  }, { className: "tile", title: `${e.id}\n${text}`, ariaLabel: `${e.id}, ${text}`, ariaPressed: String(selected.has(e.id)) });
  return make("figure", {}, tile, make("figcaption", {}, text));
}

const picked = () => shown.filter((e) => selected.has(e.id));
const corrected = (list) => count(list.reduce((sum, e) => sum + e.moved, 0), "recent item");

function showActs() {
  const none = selected.size === 0;
  at("acts").replaceChildren(
    button("select all", selectAll),
    " ", button("split", split, { disabled: none, title: "teach those selected under the name in the field" }),
    " ", button("not this", reject, { disabled: none, title: `those selected are not ${chosen}, nor is what is very like them` }), " ", button("take back", forget, { disabled: none, title: "remove the examples that are selected" }),
    " ", button(`forget ${chosen}`, forgetName), ` ${selected.size} selected`);
}

function split() {
  const list = picked(), name = chosen, label = at("into").value.trim(), ids = list.map((e) => e.id);
  if (!label || label === name) return at("into").focus();
  sure(`Teach ${count(list.length, "example")} of ${name} as ${label}? ${corrected(list)} that they corrected follow.`, () => {
    at("into").value = "";
    change(`${list.length} of ${name} are ${label}`, [["api/split", { ids, label }]], [["api/split", { ids, label: name }]]);
  });
}

function forgetName() {
  const name = chosen;
  sure(`Forget ${name}? ${moves(of(name))}, its rejections and all that streams learned of it are deleted in every process. This cannot be undone. A later example of ${name} starts it anew.`, () => act(async () => {
    const { receipt } = await ask("api/names/forget", { name });
    changed({ text: `${name} is forgotten: ${receipt.map((r) => `${r.where}: ${r.what}, ${r.until}`).join("; ")}`, undo: [] });
  }));
}

function selectAll() {
  const every = selected.size === shown.length;
  selected.clear();
  if (!every) for (const e of shown) selected.add(e.id);
  at("examples").replaceChildren(...shown.map(tile));
  showActs();
}

function reject() {
  const list = picked(), name = chosen;
  sure(`Say of ${count(list.length, "example")} that it is not ${name}? They no longer count for it, and items very near them are not called ${name}. ${corrected(list)} that they corrected get their answers back.`,
    () => change(`${list.length} are not ${name}`, list.map((e) => ["api/reject", { id: e.id, label: name }]),
      list.map((e) => ["api/teach", { id: e.id, label: name, stream: e.stream }])));
}

function takeBack(list, text) {
  return change(text, list.map((e) => ["api/forget", { id: e.id }]),
    list.flatMap((e) => (e.label ? [["api/teach", { id: e.id, label: e.label, stream: e.stream }]] : e.not.map((label) => ["api/reject", { id: e.id, label }]))));
}

function forget() {
  const list = picked();
  sure(`Take ${count(list.length, "example")} of ${chosen} back? ${corrected(list)} that they corrected get their answers back.`,
    () => takeBack(list, `${count(list.length, "example")} of ${chosen} taken back`));
}

at("rename").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = chosen, into = at("into").value.trim(), stream = at("scope").value;
  if (!into || into === name) return;
  const target = all.classes.find((c) => c.class === into);
  sure(`${target ? `Merge ${name} into ${into}, which has ${moves(target)}` : `Rename ${name} to ${into}`}${stream && ` in ${stream} alone`}? ${moves(of(name))} are called ${into} then.`, () => {
    at("into").value = "";
    const before = all.names.find((n) => n.name === name && (n.stream || "") === stream && n.into); // the name that this one replaces
    change(`${name} is called ${into}${stream && " in " + stream}`, [["api/names", { name, into, stream }]],
      [before ? ["api/names", { name, into: before.into, stream }] : ["api/names/undo", { name, stream }]]);
  });
});

// The changes of this session, and below them the names that were given before.
function showChanges() {
  const key = (n) => `${n.name} in ${n.stream || ""}`;
  const said = new Set(changes.flatMap((c) => c.undo.map(([, body]) => body.name && key(body))));
  const before = all.names.filter((n) => !said.has(key(n))).reverse().slice(0, 20).map((n) => ({
    text: (n.into ? `${n.name} is called ${n.into}${n.stream ? " in " + n.stream : ""}` : `${n.name} is forgotten, which cannot be undone`) +
      `${n.by ? ", by " + n.by : ""}${n.at ? ", " + moment(n.at) : ""}`,
    undo: n.into ? [["api/names/undo", { name: n.name, stream: n.stream }]] : [],
  }));
  at("changes").replaceChildren(...[...changes, ...before].map((c) => make("li", {}, c.text, " ", c.undo.length > 0 && button("undo", () => undo(c)))));
}

const undo = (c) => act(async () => {
  for (const [path, body] of c.undo) await ask(path, body);
  if (changes.includes(c)) changes.splice(changes.indexOf(c), 1);
  keep();
});

document.addEventListener("keydown", (event) => {
  if (typing(event) || !chosen || document.querySelector("dialog[open]")) return;
  const keys = { a: selectAll, x: () => selected.size && reject(), Delete: () => selected.size && forget(), r: () => at("into").focus() };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

act(async () => {});
setInterval(() => document.hidden || document.querySelector("dialog[open]") || refresh().catch(said), 2000);
