// Why an item is called so: the taught examples nearest to it, of its label and of the runner-up.
import { ask, make, moment } from "./dom.js";
import { picture } from "./tile.js";

// why fills host for an item. What comes after another item was asked for is left out.
export async function why(host, id) {
  host.dataset.id = id;
  host.replaceChildren();
  const { reasons } = await ask("api/why?id=" + encodeURIComponent(id));
  if (host.dataset.id !== id) return;
  host.replaceChildren(...reasons.map((r, i) => make("div", {}, make("p", { className: "hint" }, `${i ? "The runner-up, " : "Taught as "}${r.label}`),
    make("div", { className: "neighbours" }, ...r.examples.map((e) => make("figure", { title: [e.id, e.by, e.at && moment(e.at)].filter(Boolean).join("\n") },
      picture({ ...e, name: e.id }), make("figcaption", {}, e.distance.toFixed(2))))))));
}
