// "Why this name": what an item is called, why, and what to do if it is wrong. Every answer can be undone.
import { ask, said, shell } from "./shell.js";
import { changed } from "./changes.js";
import { badge, button, cam, el, icon, key, moment, nearness, percent, pic, sheet, since, secondsSince } from "./parts.js";

export const nobody = "nobody"; // the name of what is no thing to be named: false detections, people in passing

// rows are the bars of an answer: its name, then those that come next.
export const rows = (item) => [{ name: item.label, share: item.confidence }, ...(item.alternatives || []).slice(0, 2).map((a) => ({ name: a.label, share: a.confidence }))];

// nearly is the name that a person is offered by a press: of an unknown item what it is most like, of a known one the runner-up.
// A cluster's number is no name to teach.
export const nearly = (item) => rows(item).slice(item.unknown ? 0 : 1).map((row) => row.name).find((name) => !numbered(name));
export const numbered = (name) => !name || name.startsWith("cluster-");
// named says whether an answer is a name that a person may confirm or refuse.
export const named = (item) => !item.unknown && !numbered(item.label);

// why asks for the nearest examples: those of the answer, then those of the runner-up.
export const why = async (item) => (await ask("api/why?id=" + encodeURIComponent(item.id))).reasons;

// decided says of the nearest examples whether they or the items around it decided.
export function decided(item, reasons) {
  const best = reasons.flatMap((r) => r.examples.map((e) => ({ ...e, label: r.label }))).sort((a, b) => a.distance - b.distance)[0];
  if (!best) return "";
  if (!item.unknown && !named(item)) return `It is alike with others that nobody has named; the nearest example is of ${best.label}.`;
  if (item.unknown) return `The nearest example is of ${best.label}, and too far${best.label === item.label ? "" : `; the items around it are more like ${item.label}`}.`;
  if (best.label !== item.label) return `Its nearest example is of ${best.label}; the items around it decided for ${item.label}.`;
  return `Its nearest example is of ${item.label}.`;
}

// teach names an item, and offers to undo it.
export async function teach(id, label, then = () => {}) {
  try {
    await ask("api/teach", { id, label });
    then(label);
    changed({ text: `Taught: this is ${label}`, name: label, undo: [["api/forget", { id }]] }, () => then(""));
  } catch (error) { said(error); }
}

async function reject(item) {
  try {
    await ask("api/reject", { id: item.id, label: item.label });
    changed({ text: `Rejected: this is not ${item.label}`, name: item.label, undo: [["api/forget", { id: item.id }]] });
  } catch (error) { said(error); }
}

// naming asks for a name.
export function naming(picture, done, known = []) {
  const input = el("input", { id: "its-name", "aria-label": "Its name", placeholder: "What is it? For example: tag", maxlength: 200, autocomplete: "off", list: "labels", required: true });
  const send = (event) => {
    event.preventDefault();
    if (!input.value.trim()) return input.focus();
    dialog.close();
    done(input.value.trim());
  };
  const dialog = sheet("", "What is it called?", el("form", { class: "dlg", onsubmit: send },
    el("div", { class: "change" }, picture, el("div", {}, el("h2", {}, "What is it called?"), el("small", {}, "One name is enough. What looks like it gets the name too, on every camera."))),
    el("label", { class: "field" }, input),
    known.length > 0 && el("div", { class: "acts" }, known.map((name) => button([badge(name), name], () => { dialog.close(); done(name); }, { class: "chip" }))),
    el("div", { class: "acts" }, button("Cancel", () => dialog.close(), { class: "b ghost" }), el("button", { class: "b primary" }, "Call it so"))));
  input.focus();
}

// open shows an item large, with its reasons.
export function open(item, then = () => {}) {
  const name = named(item) ? item.label : "", other = nearly(item);
  const close = () => dialog.close();
  const lede = el("p", { class: "lede" }), examples = el("div", { class: "cmp" });
  const answer = (label) => { close(); teach(item.id, label, then); };
  const sureness = item.sure === false ? `Not sure: ${percent(item.confidence)}, ${item.sureFrom ? `needs ${percent(item.sureFrom)}.` : "too few items were labelled."}`
    : `${percent(item.confidence)} sure${item.calibrated ? "" : ", not yet compared with what people said"}.`;
  const steps = item.was && el("div", {}, el("h3", {}, "How the name came"), el("ol", { class: "steps" },
    el("li", {}, el("i", { class: "dotted" }), el("span", {}, item.was.unknown ? "no name at once" : `called ${item.was.label} at once`, el("span", { class: "soft" }, ", from this picture alone"))),
    el("li", {}, el("i", { class: "full" }), el("span", {}, item.unknown ? "settled: no name" : `settled: ${item.label}`, el("span", { class: "soft" }, ", with the items around it")))));
  const dialog = sheet("item", name ? `This is ${name}` : "No name yet", el("div", { class: "wrap" },
    el("div", { class: "left" }, pic(item), el("dl", {}, el("dt", {}, "camera"), el("dd", {}, cam(item.stream)), el("dt", {}, "seen"), el("dd", { class: "num", title: moment(item.time) }, since(secondsSince(item.time))), el("dt", {}, "id"), el("dd", { class: "num cut" }, item.name || item.itemId || item.id))),
    el("div", { class: "right" },
      el("header", {}, badge(name, "l"), el("div", {}, el("h2", {}, name ? `This is ${name}` : "No name yet"), el("p", { class: "soft" }, item.settled === false ? "A first answer. It settles in some seconds. " : "", name ? sureness : item.unknown ? "Too far from every example." : `One of the group ${item.label}, which nobody has named.`)),
        button(icon("close"), close, { class: "b ghost icon", "aria-label": "Close" })),
      lede, nearness(rows(item), item.unknown), el("div", {}, el("h3", {}, "Nearest examples"), examples), steps,
      !shell.teach ? el("p", { class: "readonly" }, icon("eye"), shell.readOnly ? "Your token only reads. Ask for the other one to teach." : "To teach, start the stage with --labels TOPIC.")
        : el("div", { class: "acts" },
          name ? button(["Yes, " + name, key("Y")], () => answer(name), { class: "b primary yes", "aria-keyshortcuts": "y" }) : button("Name it", () => { close(); naming(pic(item, "square"), (n) => teach(item.id, n, then)); }, { class: "b primary yes" }),
          other && button([name ? `No, ${other}` : `It is ${other}`], () => answer(other)),
          name && button("Another name", () => { close(); naming(pic(item, "square"), (n) => teach(item.id, n, then)); }),
          name && button(["Not " + name, key("X")], () => { close(); reject(item); }, { "aria-keyshortcuts": "x" }),
          button(["Nobody", key("N")], () => answer(nobody), { "aria-keyshortcuts": "n", title: "A false detection, or somebody just passing" })))));
  dialog.addEventListener("keydown", (e) => {
    if (e.target.closest("input") || e.ctrlKey || e.metaKey || e.altKey) return;
    dialog.querySelector(`[aria-keyshortcuts="${CSS.escape(e.key.toLowerCase())}"]`)?.click();
  });
  dialog.querySelector(".yes")?.focus({ preventScroll: true });
  why(item).then((reasons) => {
    lede.textContent = decided(item, reasons);
    const all = reasons.flatMap((r) => r.examples.map((e) => ({ ...e, label: r.label }))).sort((a, b) => a.distance - b.distance).slice(0, 5);
    examples.replaceChildren(...all.map((e) => el("figure", { title: e.itemId || e.id }, pic(e), el("b", {}, badge(e.label), el("span", { class: "cut" }, e.label)), el("p", {}, [e.by, e.at && new Date(e.at).getFullYear() > 1970 && moment(e.at)].filter(Boolean).join(", ") || "an example"))));
  }, () => { lede.textContent = "It was a while ago: its reasons are no longer known."; });
  return dialog;
}
