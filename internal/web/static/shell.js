// What every page has around its own part: the bar at the top, the tabs, the colours, the search, what is in trouble. It asks the
// stage how it is, and tells the page.
import { at, button, clock, count, el, fill, icon, paint, since, toast, typing } from "./parts.js";

export const main = at("main");
const page = document.body.dataset.page;
export const shell = { labels: [], marks: {}, cameras: [], status: {}, waiting: 0, groups: 0, teach: false, title: "" };
const told = new Set();
let answeredAt = 0, tries = 0, timer;

class Refused extends Error {} // by the stage, which says why
export class Lost extends Refused {} // it was not reached

// ask is a GET, or with a body a POST. What the stage has against it is thrown.
export async function ask(path, body) {
  const request = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
  let answer, text;
  try {
    answer = await fetch(path, request);
    text = await answer.text();
  } catch { throw new Lost("The stage could not be reached; nothing was changed."); }
  if (answer.status === 401) location.reload(); // to sign in
  if (!answer.ok) throw new Refused(text.trim());
  return text ? JSON.parse(text) : null;
}

// said tells a person what went wrong. What no stage said is a fault of the page, which the console shows too.
export function said(error) {
  toast(error.message);
  if (!(error instanceof Refused)) console.error(error);
}
// later is said where the page asks by itself, again and again: its bar says that the stage is lost.
export const later = (error) => error instanceof Lost || said(error);

// onShell calls a function with each answer of the stage, beginning with the next.
export function onShell(tell) { told.add(tell); }

const themes = ["", "light", "dark"], spoken = { "": "as the system has them", light: "light", dark: "dark" };
let theme = themes.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "";
const swap = el("button", { type: "button", id: "theme", class: "b ghost icon", title: "Colours", onclick: () => setTheme(themes[(themes.indexOf(theme) + 1) % 3]) }, icon("theme"));
function setTheme(next) {
  theme = next;
  localStorage.setItem("theme", theme);
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  swap.setAttribute("aria-label", "Colours: " + spoken[theme]);
}
setTheme(theme);

const tabs = [["live", "Live", "./"], ["review", "Review", "review"], ["unknown", "Unknown", "unknown"], ["names", "Names", "names"]];
const badges = { review: el("b", { class: "hot", hidden: true }), unknown: el("b", { hidden: true }) };
const title = el("span"), status = el("span", {}, "connecting");
const state = el("p", { class: "status", id: "live", role: "status", "data-state": "lost" }, el("i", { class: "dot" }), status);
const input = el("input", { id: "find", type: "search", placeholder: "Find a name or camera", "aria-label": "Find a name or a camera", "aria-keyshortcuts": "/", autocomplete: "off" });
const finder = button(icon("search"), () => {
  if (document.querySelector(".top").classList.toggle("finding")) input.focus();
}, { class: "b ghost icon find", "aria-label": "Find" });
document.body.prepend(el("a", { class: "skip", href: "#main" }, "Skip to the page"), el("header", { class: "top" }, el("div", {},
  el("a", { class: "brand", href: "./" }, el("img", { src: "static/icon.svg", alt: "Live", width: 26, height: 26 }), el("b", {}, "slkstream"), title),
  el("nav", { class: "tabs", "aria-label": "Pages" }, tabs.map(([id, text, href]) => el("a", { href, "aria-current": id === page ? "page" : null }, icon(id), text, badges[id]))),
  el("label", { class: "field" }, icon("search"), input, el("kbd", { "aria-hidden": "true" }, "/")), finder, state, swap)));
document.body.append(el("datalist", { id: "labels" }));
main.tabIndex = -1;
export const find = input;
if (page !== "live") input.addEventListener("change", () => (location.href = "./?find=" + encodeURIComponent(input.value)));
document.addEventListener("keydown", (e) => {
  if (e.key !== "/" || typing(e)) return;
  e.preventDefault();
  document.querySelector(".top").classList.add("finding");
  input.focus();
});

const trouble = el("div", { id: "trouble", hidden: true }), notes = el("div", { id: "notes" });
main.before(el("div", { class: "troubles" }, trouble, notes));

const banner = (kind, sign, what, rest, ...acts) => el("section", { class: "banner " + kind, role: kind === "calm" ? "status" : "alert" },
  icon(sign), el("div", {}, el("h2", {}, what), rest), acts.length ? el("div", { class: "acts" }, acts) : "");
const sentence = (text) => text && text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

// What keeps the stage from doing its work: what, why, and what may be done; the worst first, two in full.
function showTroubles(troubles) {
  trouble.hidden = !troubles.length;
  const one = (t) => banner("", "warn", sentence(t.what), [t.cause && el("p", {}, sentence(t.cause)), t.do && el("p", { class: "soft" }, el("b", {}, "What to do: "), t.do)]);
  fill(trouble, JSON.stringify(troubles), troubles.slice(0, 2).map((t) => () => one(t)), troubles.length > 2 &&
    (() => el("details", { class: "others-too" }, el("summary", {}, `${troubles.length - 2} more`), troubles.slice(2, 8).map(one))));
}

function showLost() {
  state.dataset.state = "lost";
  status.textContent = "no connection";
  const again = Math.min(10, 1 + tries);
  fill(notes, "lost" + tries, () => banner("calm", "off", answeredAt ? `This page lost the stage at ${clock(answeredAt)}.` : "The stage cannot be reached.",
    el("p", {}, `${answeredAt ? `What you see is ${since((Date.now() - answeredAt) / 1000).replace(" ago", " old")}. ` : ""}It tries again in ${again} s.`), button("Try now", refresh)));
  return again;
}

function show() {
  title.textContent = shell.title;
  document.title = `${tabs.find(([id]) => id === page)[1]}${shell.title ? " – " + shell.title : ""} – slkstream`;
  for (const [id, n, what] of [["review", shell.waiting, "item"], ["unknown", shell.groups, "group"]]) {
    badges[id].hidden = !n;
    if (badges[id].textContent !== String(n)) badges[id].textContent = n > 999 ? "999+" : String(n);
    badges[id].title = n === 1 ? `${count(n, what)} waits` : `${count(n, what)} wait`;
  }
  const troubles = shell.status.troubles || [];
  state.dataset.state = troubles.length ? "trouble" : "live";
  if (status.textContent !== (troubles.length ? "in trouble" : "live")) status.textContent = troubles.length ? "in trouble" : "live";
  showTroubles(troubles);
  fill(notes, shell.readOnly ? "reads" : "", shell.readOnly && (() => el("p", { class: "readonly" }, icon("eye"), el("span", {}, el("b", {}, "Your token only reads. "),
    "You see everything and change nothing; the buttons that teach are hidden."))));
  document.body.classList.toggle("reads", !shell.teach);
}

// refresh asks the stage how it is, and asks again in a while.
export async function refresh() {
  clearTimeout(timer);
  let next = 2;
  if (!document.hidden || !answeredAt) {
    try {
      Object.assign(shell, await ask("page/shell"));
      answeredAt = Date.now();
      tries = 0;
      paint(shell.marks);
      fill(at("labels"), shell.labels.join("\n"), () => shell.labels.map((value) => el("option", { value })));
      show();
      for (const tell of told) tell(shell);
    } catch (error) {
      if (!(error instanceof Refused)) console.error(error);
      next = showLost();
      tries++;
    }
  }
  clearTimeout(timer);
  timer = setTimeout(refresh, 1000 * next);
}
document.addEventListener("visibilitychange", () => document.hidden || refresh());

// waiting are grey frames, as long as nothing is known.
const ghosts = () => el("div", { class: "split ghosts", "aria-hidden": "true" }, el("div", { class: "card" }, Array.from({ length: 12 }, () => el("i"))), el("div", { class: "card" }, Array.from({ length: 9 }, () => el("i"))));
export const lead = (title, text, acts, more) => el("div", { class: "lead" }, el("h1", {}, title), el("p", {}, text), more, acts && el("div", { class: "acts" }, acts));
export const link = (text, href, more = "") => el("a", { class: "b " + more, href }, text);
main.append(ghosts());
refresh();
