// Strangers in groups, the largest first. One name teaches a few members of a group, once it is known what else would be
// called so.
import { ask, at, changed, count, live, make, moment, offer, said, sure, whole } from "./dom.js";
import { picture } from "./tile.js";

let seen = "";

async function refresh() {
  const found = await ask("api/unknown");
  live("live", "live");
  const now = JSON.stringify(found);
  if (now === seen || document.activeElement.matches("#groups input") || document.querySelector("dialog[open]")) return; // somebody is at it
  seen = now;
  offer(at("labels"), found.labels);
  at("about").textContent = found.all
    ? `${count(found.items, "unknown item")} in ${count(found.all, "group")} since ${moment(found.since)}` + (found.all > found.groups.length ? `; the largest ${whole.format(found.groups.length)} are shown` : "")
    : "Nothing unknown was seen lately.";
  at("groups").replaceChildren(...found.groups.map(row));
}

const figure = (item, text) => make("figure", { title: `${item.id}\n${item.stream}, ${moment(item.time)}` }, picture({ ...item, name: item.id }), make("figcaption", {}, text));

function row(group) {
  const name = make("input", { maxLength: 200, autocomplete: "off", placeholder: "what is it?", ariaLabel: `Name of the group of ${group.count}` });
  name.setAttribute("list", "labels");
  const form = make("form", { className: "other" }, name, make("button", {}, "Name"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (name.value.trim()) teach(group, name.value.trim()).catch(said);
  });
  const where = group.streams.length > 3 ? count(group.streams.length, "stream") : group.streams.join(", ");
  const about = `${count(group.count, "item")} · ${where} · ${moment(group.first)}` + (group.count > 1 ? ` to ${moment(group.last)}` : "");
  return make("li", {}, make("p", { className: "hint" }, about),
    make("div", { className: "tiles" }, figure(group.middle, "the middle"), ...group.different.map((item) => figure(item, "least alike"))), form);
}

// teach asks first: it shows what else would be called so.
async function teach(group, label) {
  said(null);
  const ids = group.teach;
  const others = await ask("api/preview", { ids, label });
  at("sure-items").replaceChildren(...others.items.map((item) => figure(item, item.was)));
  sure(`Teach ${count(ids.length, "item")} of ${whole.format(group.count)} as ${label}? ${others.count ? `${count(others.count, "other recent item")} would be called ${label} then:` : "No other recent item changes now. Later items are answered by these examples."}`, async () => {
    try {
      await ask("api/split", { ids, label });
      changed({ text: `${count(ids.length, "stranger")} taught as ${label}`, undo: ids.map((id) => ["api/forget", { id }]) });
      document.activeElement.blur();
      await refresh();
    } catch (error) {
      said(error);
    }
  });
}

refresh().catch(said);
setInterval(() => document.hidden || refresh().catch(said), 5000);
