// The page's script: it listens to the stage, hands what comes to the views, and keeps the figures.
import { Belt } from "./belt.js";
import { AccuracyChart, ObjectiveChart, SureChart } from "./charts.js";
import { at, live, make, whole } from "./dom.js";
import { EpisodeMap } from "./map.js";
import { Palette } from "./palette.js";
import { Streams } from "./streams.js";
import { TeachDialog } from "./teach.js";

const palette = new Palette();
const teach = new TeachDialog(palette, (id, label) => belt.taught(id, label));
const open = (item) => teach.open(item);
const map = new EpisodeMap(at("map-chart"), at("map-keys"), palette, open);
const belt = new Belt(at("strip"), at("bins"), at("pause"), palette, open, (id) => map.find(id));
const accuracy = new AccuracyChart(at("accuracy-chart"));
const sure = new SureChart(at("sure-chart"));
const objective = new ObjectiveChart(at("objective-chart"));

const streams = new Streams(at("streams"), at("hour-chart"), at("streams-hint"));
streams.follow();

const percent = (x) => (100 * x).toFixed(1) + " %";

function figure(name, value, aside = "") {
  const [main, rest] = at("figure-" + name).querySelectorAll("dd");
  main.textContent = value;
  rest.textContent = aside;
}

function showScores(scores) {
  const known = scores && scores.length > 0 && scores[0].all > 0;
  at("accuracy").hidden = at("figure-accuracy").hidden = !known;
  if (!known) return;
  const late = (s) => (s.lateOf ? s.late / s.lateOf : s.right / s.all);
  const rest = scores.slice(1).map((s) => `${s.name} ${percent(late(s))}`);
  figure("accuracy", percent(late(scores[0])), `${percent(scores[0].right / scores[0].all)} so far · ${rest.join(" · ")}`);
}

// showSure draws what the last episode's stream knows of its answers, and says how many of the episode are sure.
function showSure({ stream, items, maxWrong, sure: points }) {
  at("sure").hidden = !maxWrong;
  if (!maxWrong) return;
  const count = items.filter((item) => item.sure).length;
  at("sure-hint").textContent = `${stream ? stream + ": " : ""}${count} of the ${items.length} items of its last episode are sure; the curve is of items that people labelled, answered without their label`;
  sure.show(points || [], maxWrong);
}

// What keeps the stage from doing its work, in red: what, why, and what may be done.
let told = "";
function showTroubles(troubles) {
  const text = JSON.stringify(troubles);
  if (text === told) return;
  told = text;
  at("trouble").hidden = troubles.length === 0;
  at("trouble").replaceChildren(...troubles.slice(0, 5).map((trouble) => {
    const cause = trouble.cause ? `: ${trouble.cause}` : "";
    return make("p", {}, make("strong", {}, trouble.what), cause, make("br"), `What to do: ${trouble.do}`);
  }));
}

function seconds(s) {
  if (s < 1) return Math.round(1000 * s) + " ms";
  return s < 100 ? s.toFixed(1) + " s" : whole.format(Math.round(s)) + " s";
}

const receive = {
  hello(hello) {
    at("title").textContent = hello.title || "";
    at("note").textContent = hello.note || "";
    document.title = hello.title ? `${hello.title} – slkstream` : "slkstream";
    at("hint").textContent = hello.teach ? "click one to teach its label" : "click one to look closer";
    teach.allowed = hello.teach;
    palette.name(hello.labels || []);
    teach.labels(hello.labels || []);
    belt.labels(hello.labels || []);
    accuracy.replace(hello.curve || []);
  },
  status(status) {
    showTroubles(status.troubles || []);
    if (at("live").dataset.state !== "lost") live(status.troubles ? "trouble" : "live", status.troubles ? "in trouble" : "live");
    figure("speed", whole.format(Math.round(status.perSecond)), `${whole.format(status.answered)} in all`);
    if (status.lag < 0) figure("lag", "unknown", "the brokers do not say");
    else figure("lag", seconds(status.lagSeconds), `${whole.format(status.lag)} records waiting`);
    const share = status.answered > 0 ? percent(status.unknown / status.answered) : "";
    figure("unknown", whole.format(status.unknown), share && `${share} of the answers` + (status.dead ? ` · ${whole.format(status.dead)} refused` : ""));
  },
  first(items) {
    at("legend-first").hidden = false;
    teach.labels(items.map((item) => item.label));
    belt.first(items);
  },
  settled(items) {
    teach.labels(items.map((item) => item.label));
    belt.settle(items);
  },
  episode(episode) {
    teach.labels(episode.items.map((item) => item.label));
    for (const item of episode.items) item.neighbours = [];
    for (const [a, b] of episode.edges || []) {
      if (!episode.items[a] || !episode.items[b]) continue;
      episode.items[a].neighbours.push(episode.items[b]);
      episode.items[b].neighbours.push(episode.items[a]);
    }
    at("legend-wrong").hidden = !episode.items.some((item) => item.truth);
    showScores(episode.scores);
    if (episode.scores && episode.scores.length) accuracy.add(episode.scores);
    map.show(episode);
    showSure(episode);
    at("objective").hidden &&= (episode.trace || []).length < 3; // two points are no curve
    objective.show(episode.trace);
    belt.take(episode);
    const warm = episode.warm ? "warm start" : "cold start";
    figure("episode", "#" + whole.format(episode.episode), `${episode.items.length} items · ${episode.solveMilliseconds.toFixed(1)} ms · ${warm}`);
  },
};

function connect() {
  const source = new EventSource("events");
  source.onopen = () => live("live", "live");
  source.onerror = () => {
    live("lost", "the stage is away; looking again");
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
  };
  for (const [name, take] of Object.entries(receive)) {
    source.addEventListener(name, (event) => take(JSON.parse(event.data)));
  }
}

const themes = [["", "as the system has them", "◐"], ["light", "light", "☀"], ["dark", "dark", "☾"]];
function setTheme(name) {
  const [theme, spoken, sign] = themes.find((t) => t[0] === name) || themes[0];
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  at("theme").textContent = sign;
  at("theme").setAttribute("aria-label", "Colours: " + spoken);
  return theme;
}
let theme = setTheme(localStorage.getItem("theme") || "");
at("theme").addEventListener("click", () => {
  theme = setTheme(themes[(themes.findIndex((t) => t[0] === theme) + 1) % themes.length][0]);
  localStorage.setItem("theme", theme);
});

connect();
