// Details, for people who run the stage: the map of the last episode, its objective, how sure it is, numbers. Nothing is drawn
// before somebody opens them.
import { el, fill, percent, whole } from "./parts.js";
import { shell } from "./shell.js";
import { EpisodeMap, ObjectiveChart, SureChart } from "./charts.js";
import { open } from "./item.js";

const map = el("div", { class: "chart", id: "map-chart" }), keys = el("div", { class: "legend", id: "map-keys" }), fall = el("div", { class: "chart", id: "objective-chart" }), sure = el("div", { class: "chart", id: "sure-chart" });
const hint = el("p", { id: "sure-hint" }), figures = el("dl", { id: "figures" }), name = el("h3", {}, "Last episode"), surePane = el("div", { id: "sure", hidden: true }, el("h3", {}, "How sure"), hint, sure);
const box = el("details", { class: "card details", id: "details" }, el("summary", {}, "Details", el("span", {}, "the last episode, its solver and its feed")), el("div", { class: "panes" },
  el("div", {}, name, el("p", {}, "Items that are alike lie near each other; lines join the nearest."), map, keys),
  el("div", {}, el("h3", {}, "Objective"), el("p", {}, "R over the steps of the descent: it must fall. Earlier episodes behind."), fall), surePane,
  el("div", {}, el("h3", {}, "Numbers"), el("p", {}, "Of this process."), figures)));
const episodes = new EpisodeMap(map, keys, open), objective = new ObjectiveChart(fall), sureness = new SureChart(sure);
let last = null;
box.addEventListener("toggle", () => last && draw());

export const details = () => box;

// take notes an episode, and draws it if somebody looks.
export function take(episode) {
  last = episode;
  objective.take(episode.trace);
  if (box.open) draw();
}

function draw() {
  name.textContent = `Last episode, ${last.stream}`;
  episodes.show(last);
  objective.draw();
  surePane.hidden = !last.maxWrong;
  if (last.maxWrong) {
    const n = last.items.filter((item) => item.sure).length;
    hint.textContent = `${last.stream ? last.stream + ": " : ""}${n} of the ${last.items.length} items of its last episode are sure. The curve is of items that people labelled, answered without their label.`;
    sureness.show(last.sure || [], last.maxWrong);
  }
  const s = shell.status;
  fill(figures, JSON.stringify([last.episode, last.stream, s.answered, s.lag]), () => [["episode", whole.format(last.episode)], ["items in it", last.items.length], ["closed by", last.closed], ["solved in", `${last.solveMilliseconds.toFixed(1)} ms`], ["start", last.warm ? "warm" : "cold"],
    ["answers in all", whole.format(s.answered ?? 0)], ["unknown of these", s.answered ? percent(s.unknown / s.answered) : "–"], ["records waiting", s.lag < 0 ? "not known" : whole.format(s.lag ?? 0)], ["refused records", whole.format(s.dead ?? 0)]].map(([t, d]) => [el("dt", {}, t), el("dd", {}, d)]));
}
