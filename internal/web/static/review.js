// The review queue: one item after the other, or several at once; one key a class. It speaks to the same API as any other
// labelling tool.
import { ask, at, button, live, make, moment, offer, said, typing } from "./dom.js";
import { picture } from "./tile.js";
import { why } from "./why.js";

const nobody = "nobody"; // the class of what is no thing to be named: false detections, people in passing
const together = 12; // items taken where several are answered at once
const who = sessionStorage.who ||= "page-" + crypto.getRandomValues(new Uint32Array(2)).join("-");
const keys = []; // the labels of the digits; each keeps its digit while the page is open
const selected = new Set(); // ids
let items = [], shown, labels = [], rows = new Map(), doing = Promise.resolve(), waiting = 0;
let several = Boolean(sessionStorage.several);

// current is the item that is shown large.
const current = () => items.find((item) => selected.has(item.id)) || items[0];
// chosen are the items that an answer is for: those selected, or else the one that is shown.
const chosen = () => (selected.size ? items.filter((item) => selected.has(item.id)) : items.slice(0, 1));
const guessed = () => chosen().filter((item) => !item.unknown);

function choice(label, item) {
  const one = button(label, () => teach(label));
  one.classList.toggle("guess", label === item.label && !item.unknown);
  const digit = keys.indexOf(label) + 1;
  if (digit) {
    one.append(make("kbd", {}, String(digit)));
    one.dataset.digit = digit;
  }
  return one;
}

function show() {
  for (const id of selected) if (!items.some((item) => item.id === id)) selected.delete(id);
  showQueue();
  for (const id of ["nobody", "skip", "name"]) at(id).disabled = !items.length;
  at("not").disabled = at("yes").disabled = !guessed().length;
  const item = current();
  if (item) {
    const guess = item.unknown ? "Not like anything labelled" : `${item.label}, ${Math.round(100 * item.confidence)} % sure`;
    at("question-title").textContent = selected.size > 1 ? `${selected.size} selected: one answer for all` : guess;
  }
  if (shown === (item?.id ?? null)) return;
  shown = item?.id ?? null;
  at("choices").replaceChildren();
  at("examples").replaceChildren();
  if (!item) {
    at("picture").replaceChildren();
    at("question-title").textContent = "Nothing to ask now";
    at("why").textContent = "New items appear here by themselves.";
    return;
  }
  at("picture").dataset.id = item.id;
  at("picture").replaceChildren(picture({ ...item, name: item.id }));
  at("why").textContent = [item.why, item.stream && "stream " + item.stream, moment(item.time)].filter(Boolean).join(" · ");
  why(at("examples"), item.id).catch(() => {}); // nobody knows any more
  const likely = [item.label, ...(item.alternatives || []).map((a) => a.label)];
  const order = [...new Set([...keys, ...likely, ...labels])].filter((label) => label && label !== nobody).slice(0, 24);
  at("choices").replaceChildren(...order.map((label) => choice(label, item)));
}

// showQueue shows the items to select from. A tile that stays is left where it is: somebody may be at it.
function showQueue() {
  at("queue").hidden = at("all").hidden = !several;
  at("several").ariaPressed = String(several);
  const there = new Map([...at("queue").children].map((figure) => [figure.firstChild.item.id, figure]));
  const figures = several ? items.map((item) => there.get(item.id) || tile(item)) : [];
  if (figures.length !== there.size || figures.some((figure, i) => figure !== at("queue").children[i])) at("queue").replaceChildren(...figures);
  for (const figure of figures) figure.firstChild.ariaPressed = String(selected.has(figure.firstChild.item.id));
}

function tile(item) {
  const guess = item.unknown ? "unknown" : `${item.label} ?`;
  const one = button(picture({ ...item, name: item.id }), () => {
    selected.delete(item.id) || selected.add(item.id);
    show();
  }, { className: "tile", item, title: item.why, ariaLabel: `${item.id}, ${guess}` });
  return make("figure", {}, one, make("figcaption", {}, guess));
}

async function next() {
  const queue = await ask("api/review", { who, count: several ? together : 1 });
  labels = queue.labels;
  for (const label of labels) if (keys.length < 9 && label !== nobody && !keys.includes(label)) keys.push(label);
  offer(at("labels"), labels);
  at("waiting").textContent = `${queue.waiting} waiting`;
  items = queue.items;
  show();
}

// taught is a row for what was said of an item, its cells still empty.
function taught(id) {
  const row = make("tr");
  for (let i = 0; i < 4; i++) row.insertCell();
  row.insertCell().append(button("take back", () => act(() => ask("api/forget", { id }))));
  return row;
}

async function session() {
  const state = await ask("api/state");
  live("live", "live");
  if (!state.teach) throw new Error("To teach, start the stage with --labels TOPIC.");
  const list = state.taught.map((t) => {
    const row = rows.get(t.id) || taught(t.id);
    [t.id, t.label, t.guess || "–", String(t.since)].forEach((text, i) => { row.children[i].textContent = text; });
    return row;
  });
  rows = new Map(state.taught.map((t, i) => [t.id, list[i]]));
  const shown = at("said"); // a row that stays is left where it is: somebody may be pressing its button
  if (list.length !== shown.children.length || list.some((row, i) => row !== shown.children[i])) shown.replaceChildren(...list);
}

// act does what is asked one after the other, and shows what came of each.
function act(what) {
  waiting++;
  doing = doing.then(async () => {
    try {
      said(null);
      await what();
      await next();
      await session();
    } catch (error) {
      said(error);
    } finally {
      waiting--;
    }
  });
}

// answer acts on items, without those that what was asked before has answered.
function answer(list, what) {
  const ids = list.map((item) => item.id);
  act(async () => {
    const left = items.filter((item) => ids.includes(item.id));
    if (!left.length) return;
    await what(left);
    items = items.filter((item) => !left.includes(item));
    show();
  });
}

const split = (list, label) => ask("api/split", { ids: list.map((item) => item.id), label });

function teach(label) {
  label = label.trim();
  if (label) answer(chosen(), async (list) => {
    await split(list, label);
    at("name").value = "";
  });
}

// agree teaches each item as what it was answered.
function agree() {
  answer(guessed(), async (list) => {
    for (const label of new Set(list.map((item) => item.label))) await split(list.filter((item) => item.label === label), label);
  });
}

// each asks one request of each item.
const each = (items, path, body) => answer(items, async (list) => {
  for (const item of list) await ask(path, body(item));
});
const skip = () => each(chosen(), "api/review/skip", ({ id }) => ({ id, who }));
const reject = () => each(guessed(), "api/reject", ({ id, label }) => ({ id, label }));

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

const buttons = { yes: agree, not: reject, nobody: () => teach(nobody), skip, several: toggle, all };
for (const [id, press] of Object.entries(buttons)) {
  at(id).addEventListener("click", press);
}
at("other").addEventListener("submit", (event) => {
  event.preventDefault();
  teach(at("name").value);
});
document.addEventListener("keydown", (event) => {
  if (typing(event)) return;
  if (/^[1-9]$/.test(event.key)) at("choices").querySelector(`[data-digit="${event.key}"]`)?.click();
  else for (const [id, press] of Object.entries(buttons)) if (at(id).getAttribute("aria-keyshortcuts") === event.key) press();
});

show();
act(async () => {});
setInterval(() => document.hidden || waiting || act(async () => {}), 2000);
