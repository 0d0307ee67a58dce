// The review queue: one item after the other, one key a class. It speaks to the same API as any other labelling tool.
import { ask, at, button, live, make, moment, offer, said, typing } from "./dom.js";
import { picture } from "./tile.js";
import { why } from "./why.js";

const nobody = "nobody"; // the class of what is no thing to be named: false detections, people in passing
const who = sessionStorage.who ||= "page-" + crypto.getRandomValues(new Uint32Array(2)).join("-");
const keys = []; // the labels of the digits; each keeps its digit while the page is open
let item = null, labels = [], rows = new Map(), doing = Promise.resolve(), waiting = 0;

function choice(label) {
  const one = button(label, () => teach(label));
  one.classList.toggle("guess", label === item.label && !item.unknown);
  const digit = keys.indexOf(label) + 1;
  if (digit) {
    one.append(make("kbd", {}, String(digit)));
    one.dataset.digit = digit;
  }
  return one;
}

function show(next) {
  item = next;
  for (const id of ["nobody", "skip", "name"]) at(id).disabled = !item;
  at("not").disabled = at("yes").disabled = !item || item.unknown;
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
  at("question-title").textContent = item.unknown ? "Not like anything labelled" : `${item.label}, ${Math.round(100 * item.confidence)} % sure`;
  at("why").textContent = [item.why, item.stream && "stream " + item.stream, moment(item.time)].filter(Boolean).join(" · ");
  why(at("examples"), item.id).catch(() => {}); // nobody knows any more
  const likely = [item.label, ...(item.alternatives || []).map((a) => a.label)];
  const order = [...new Set([...keys, ...likely, ...labels])].filter((label) => label && label !== nobody).slice(0, 24);
  at("choices").replaceChildren(...order.map(choice));
}

async function next() {
  const queue = await ask("api/review", { who, count: 1 });
  labels = queue.labels;
  for (const label of labels) if (keys.length < 9 && label !== nobody && !keys.includes(label)) keys.push(label);
  offer(at("labels"), labels);
  at("waiting").textContent = `${queue.waiting} waiting`;
  const first = queue.items[0] || null;
  if (first?.id !== item?.id) show(first);
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

// answer acts on the item that is shown, unless what was asked before has replaced it.
function answer(what) {
  const shown = item;
  act(async () => {
    if (item !== shown) return;
    await what(shown.id);
    show(null);
  });
}

function teach(label) {
  if (!item || !label.trim()) return;
  answer(async (id) => {
    await ask("api/teach", { id, label });
    at("name").value = "";
  });
}

function skip() {
  if (item) answer((id) => ask("api/review/skip", { id, who }));
}

function reject() {
  if (item && !item.unknown) answer((id) => ask("api/reject", { id, label: item.label }));
}

at("not").addEventListener("click", reject);
at("yes").addEventListener("click", () => item && teach(item.label));
at("nobody").addEventListener("click", () => teach(nobody));
at("skip").addEventListener("click", skip);
at("other").addEventListener("submit", (event) => {
  event.preventDefault();
  teach(at("name").value);
});
document.addEventListener("keydown", (event) => {
  if (typing(event)) return;
  if (event.key === "s") skip();
  else if (event.key === "x") reject();
  else if (event.key === "n") teach(nobody);
  else if (/^[1-9]$/.test(event.key)) at("choices").querySelector(`[data-digit="${event.key}"]`)?.click();
  else if (event.key === "y" && item && !item.unknown) teach(item.label);
});

show(null);
act(async () => {});
setInterval(() => document.hidden || waiting || act(async () => {}), 2000);
