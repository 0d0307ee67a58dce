// Unknown: strangers in groups. One name for a group, after a look at what else would get it; groups that nobody wants to name are
// hidden, and shown again on request.
import { Lost, ask, later, lead, main, onShell, refresh, said, shell } from "./shell.js";
import { changed } from "./changes.js";
import { numbered } from "./item.js";
import { arrange, button, cams, choose, clock, count, counted, el, fill, held, icon, percent, pic, toast, who, whole } from "./parts.js";

const enough = 12; // groups that a person looks through at once
let asked = decodeURIComponent(location.hash.slice(1)); // an item of the group that is to be named first
let order = "largest", found = null, busy = false, again = false, all = false, away = false; // away: the hidden groups are shown
const orders = {
  largest: (a, b) => b.count - a.count, newest: (a, b) => b.last.localeCompare(a.last),
  familiar: (a, b) => b.middle.confidence - a.middle.confidence,
};
const box = el("div", { class: "groups", id: "groups" }), top = el("div"), more = el("div", { class: "acts", id: "more" });
const segment = choose("Order", [["largest", "largest"], ["newest", "newest"], ["familiar", "most familiar"]], order, (v) => { order = v; show(); });

const looks = ({ count, middle }) => JSON.stringify([count, middle.label, middle.identityStreams]);
const plural = (n) => (n === 1 ? "One group has" : `${counted(n, "group")} have`);
function show() {
  const several = found.groups.filter((g) => g.count > 1), n = several.length, alone = found.groups.length - n;
  const some = [...(n ? several : found.groups)].sort(orders[order]).slice(0, enough), shown = all ? [...found.groups].sort(orders[order]) : some;
  fill(top, `${n} ${alone} ${found.all} ${found.hidden} ${away}`, () => lead(away ? `${counted(n + alone, "group")} hidden.` : n ? `${plural(n)} no name.` : alone ? `${counted(alone, "item")} without a name, none like another.` : found.hidden ? "Everything else has a name." : "Everything has a name.",
    n + alone && !away ? shell.teach && `Name those you know, and hide the others. Before anything changes you see what else would be called so.${found.all > found.groups.length ? ` The largest ${found.groups.length} are shown.` : ""}`
      : away ? "They come back by themselves once most of what is in them is new." : "New strangers appear here when some look alike.", n > 1 && segment));
  const rest = found.groups.length - some.length, groups = n - (n ? some.length : 0), kinds = [groups && count(groups, "group"), n > 0 && alone && count(alone, "single item")].filter(Boolean).join(" and ");
  fill(more, `${all} ${rest} ${kinds} ${away} ${found.hidden} ${found.groups.length}`, rest > 0 && (() => button(all ? "Show fewer" : `Show ${kinds || count(rest, "item")} more`, () => { all = !all; show(); })),
    shell.teach && found.groups.length > 1 && (() => button(away ? "Show all again" : `Hide all ${found.groups.length}`, () => put(found.groups), { class: "b ghost" })),
    found.hidden + away > 0 && (() => button(away ? "Back to what has no name" : `See ${count(found.hidden, "hidden group")}`, () => { away = !away; all = false; box.replaceChildren(); load(); }, { class: "b ghost" })));
  if (held(box) || box.querySelector(".preview:not([hidden])")) return; // nothing moves while somebody looks
  const cards = new Map([...box.children].map((card) => [card.dataset.key, card]));
  const next = shown.map((group) => {
    const known = cards.get(group.middle.id);
    return known?.querySelector("input")?.value || known?.looks === looks(group) ? known : card(group);
  });
  arrange(box, next);
}

const span = ({ first, last }) => (clock(first) === clock(last) ? `at ${clock(last)}` : `${clock(first)} to ${clock(last)}`);
function card(group) {
  const input = el("input", { placeholder: "Who or what is it?", "aria-label": `Name for the group of ${group.count}`, maxlength: 200, autocomplete: "off", list: "labels" });
  const preview = el("div", { class: "preview", role: "status", hidden: true });
  const members = [group.middle, ...group.different];
  const close = () => { preview.hidden = true; input.focus(); };
  const look = async (event) => {
    event?.preventDefault();
    const label = input.value.trim();
    if (!label) return input.focus();
    try {
      const others = await ask("api/preview", { ids: group.teach, label });
      preview.hidden = false;
      const yes = button(`Call them ${label}`, () => name(group, label, card), { class: "b primary" });
      preview.replaceChildren(el("p", {}, el("b", {}, `${group.teach.length} of the ${whole.format(group.count)} are taught as ${label}${shell.labels.includes(label) ? "" : ", a new name"}. `),
        others.count ? `${count(others.count, "other recent item")} would ${others.corrected ? "be" : "have been"} called so too${others.named.length ? `, ${whole.format(others.named[0].count)} of them called ${others.named[0].label} now` : ""}` : "No other recent item would be called so", others.already ? `; ${whole.format(others.already)} ${others.already > 1 ? "are" : "is"} already` : "", others.count ? ":" : "."),
        ...(others.count ? [el("div", { class: "thumbs" }, others.items.slice(0, 6).map((item) => el("span", { title: `now ${item.was}` }, pic(item))), others.count > 6 && el("span", { class: "more" }, `+${others.count - 6}`))] : []),
        el("div", { class: "acts" }, yes, button("Cancel", close, { class: "b ghost" })));
      yes.focus();
    } catch (error) { said(error); }
  };
  const elsewhere = (group.middle.identityStreams || []).filter((s) => !group.streams.includes(s));
  const also = elsewhere.length > 0 && el("div", { class: "facts also" }, el("span", {}, "also on"), cams(elsewhere, 3));
  const card = el("article", { class: "card group", "data-key": group.middle.id, "aria-label": `Group of ${count(group.count, "item")}` },
    el("div", { class: `collage n${members.length}` }, members.slice(0, 5).map((item) => pic({ ...item, unknown: true })), el("span", { class: "n" }, count(group.count, "item")),
      shell.teach && button(away ? "Show again" : "Hide", () => put([group]), { class: "n", title: away ? "" : "Nobody wants to name it: put it away" })),
    el("div", { class: "body" }, el("div", { class: "facts num" }, cams(group.streams, 3), el("span", {}, span(group))), also,
      !numbered(group.middle.label) && el("div", { class: "like" }, el("span", {}, "most like"), who(group.middle.label), el("span", {}, percent(group.middle.confidence)),
        shell.teach && button("Yes, it is", () => { input.value = group.middle.label; look(); })),
      shell.teach && el("form", { class: "name-it", onsubmit: look }, el("label", { class: "field" }, input), el("button", { class: "b" }, "Name it")), preview));
  return Object.assign(card, { teach: group.teach, looks: looks(group) });
}

async function name(group, label, card) {
  try {
    await ask("api/split", { ids: group.teach, label });
    card.remove();
    changed({ text: `${count(group.count, "unknown item")} named ${label}, ${group.teach.length} of them as examples`, name: label, undo: group.teach.map((id) => ["api/forget", { id }]) }, load);
    await load();
    refresh();
  } catch (error) { said(error); }
}

// put hides groups, or shows hidden ones again, and offers to undo it.
async function put(groups, hidden = !away) {
  try {
    await ask("page/hide", { ids: groups.map((g) => g.teach[0]), hidden });
    for (const card of [...box.children]) if (hidden !== away && groups.some((g) => g.middle.id === card.dataset.key)) card.remove();
    toast(`${counted(groups.length, "group")} ${hidden ? "hidden" : "shown again"}.`, () => put(groups, !hidden));
    load();
    refresh();
  } catch (error) { said(error); }
}

async function load() {
  again = busy;
  if (busy) return;
  busy = true;
  try {
    const was = away, now = await ask("api/unknown" + (away ? "?hidden=true" : ""));
    if (was !== away) return;
    if (!found) main.replaceChildren(top, box, more);
    found = now;
    show();
    if (asked) [...box.children].find((card) => card.teach.includes(asked))?.querySelector("input")?.focus();
    asked = "";
  } catch (error) {
    if (found || error instanceof Lost) return later(error);
    main.replaceChildren(el("section", { class: "card blank" }, el("span", { class: "mark" }, icon("unknown")), el("h1", {}, "Unknown items are not kept."), el("p", {}, error.message)));
  } finally {
    busy = false;
    if (again) load();
  }
}
let turn = 0;
onShell(() => (!found || turn++ % 2) && load());
