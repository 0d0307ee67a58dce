// The review queue: one item after the other, one key a class. It speaks to the same API as any other labelling tool.
import { picture } from "./tile.js";

const at = (id) => document.getElementById(id);
const nobody = "nobody"; // the class of what is no thing to be named: false detections, people in passing
const who = sessionStorage.who ||= "page-" + crypto.getRandomValues(new Uint32Array(2)).join("-");
let item = null, labels = [], said = new Map(), doing = Promise.resolve(), waiting = 0;

async function ask(path, body) {
  const request = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
  const answer = await fetch(path, request);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.status === 204 ? null : answer.json();
}

function live(state, text) {
  at("live").dataset.state = state;
  at("live").textContent = text;
}

function say(error) { at("message").textContent = error ? error.message : ""; }

function button(label, index) {
  const choice = document.createElement("button");
  choice.type = "button";
  choice.append(label);
  choice.classList.toggle("guess", label === item.label && !item.unknown);
  if (index < 9) {
    const key = document.createElement("kbd");
    key.textContent = String(index + 1);
    choice.append(key);
  }
  choice.addEventListener("click", () => teach(label));
  return choice;
}

function show(next) {
  item = next;
  for (const id of ["nobody", "skip", "name"]) at(id).disabled = !item;
  at("choices").replaceChildren();
  if (!item) {
    at("picture").replaceChildren();
    at("question-title").textContent = "Nothing to ask now";
    at("why").textContent = "New items appear here by themselves.";
    return;
  }
  at("picture").replaceChildren(picture({ ...item, name: item.id }));
  at("question-title").textContent = item.unknown ? "Not like anything labelled" : `${item.label}, ${Math.round(100 * item.confidence)} % sure`;
  at("why").textContent = [item.why, item.stream && "stream " + item.stream, new Date(item.time).toLocaleString()].filter(Boolean).join(" · ");
  const likely = [item.label, ...(item.alternatives || []).map((a) => a.label)];
  const order = [...new Set([...likely, ...labels])].filter((label) => label && label !== nobody).slice(0, 24);
  at("choices").replaceChildren(...order.map(button));
}

async function next() {
  const queue = await ask(`api/review?count=1&who=${encodeURIComponent(who)}`);
  labels = queue.labels;
  at("waiting").textContent = `${queue.waiting} waiting`;
  const first = queue.items[0] || null;
  if (first?.id !== item?.id) show(first);
}

// taught is a row for what was said of an item, its cells still empty.
function taught(id) {
  const row = document.createElement("tr");
  for (let i = 0; i < 4; i++) row.append(document.createElement("td"));
  const undo = document.createElement("button");
  undo.type = "button";
  undo.textContent = "take back";
  undo.addEventListener("click", () => act(() => ask("api/forget", { id })));
  const cell = document.createElement("td");
  cell.append(undo);
  row.append(cell);
  return row;
}

async function session() {
  const state = await ask("api/state");
  live("live", "live");
  if (!state.teach) throw new Error("To teach, start the stage with --labels TOPIC.");
  const rows = state.taught.map((t) => {
    const row = said.get(t.id) || taught(t.id);
    [t.id, t.label, t.guess || "–", String(t.since)].forEach((text, i) => { row.children[i].textContent = text; });
    return row;
  });
  said = new Map(state.taught.map((t, i) => [t.id, rows[i]]));
  const shown = at("said"); // a row that stays is left where it is: somebody may be pressing its button
  if (rows.length !== shown.children.length || rows.some((row, i) => row !== shown.children[i])) shown.replaceChildren(...rows);
}

// act does what is asked one after the other, and shows what came of each.
function act(what) {
  waiting++;
  doing = doing.then(async () => {
    try {
      say(null);
      await what();
      await next();
      await session();
    } catch (error) {
      if (error instanceof TypeError) live("lost", "not reached");
      say(error);
    } finally {
      waiting--;
    }
  });
}

// answer acts on the item that is shown, unless what was asked before has put another in its place.
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

at("nobody").addEventListener("click", () => teach(nobody));
at("skip").addEventListener("click", skip);
at("other").addEventListener("submit", (event) => {
  event.preventDefault();
  teach(at("name").value);
});
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "s") skip();
  else if (event.key === "n") teach(nobody);
  else if (/^[1-9]$/.test(event.key)) at("choices").children[Number(event.key) - 1]?.click();
});

show(null);
act(async () => {});
setInterval(() => document.hidden || waiting || act(async () => {}), 2000);
