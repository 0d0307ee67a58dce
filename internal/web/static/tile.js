// A tile is one item as a button: its picture, or its name where it has none, and what is to be said of it.
import { button, make } from "./dom.js";

export const wrong = (item) => Boolean(item.truth) && !item.taught && item.truth !== item.label;

export function picture(item) {
  if (item.image) {
    const image = make("img", { src: item.image, alt: "", decoding: "async", referrerPolicy: "no-referrer" });
    image.addEventListener("error", () => image.replaceWith(blank(item)));
    return image;
  }
  return blank(item);
}

const blank = (item) => make("span", { className: "blank" }, item.name || item.id);

const fraction = (x) => x.toFixed(2).replace(/^0/, "");

export function describe(item) {
  let text = item.unknown ? `unknown, nearest ${item.label}` : item.label;
  if (item.sure === false) text += `, not sure: ${fraction(item.confidence)}, ` + (item.sureFrom ? `needs ${fraction(item.sureFrom)}` : "too few labels");
  else text += `, ${Math.round(100 * item.confidence)} % sure`;
  if (wrong(item)) text += `, truly ${item.truth}`;
  if (item.taught) text += ", taught";
  if (!item.settled) text += ", answered at once, not settled yet";
  if (item.was) text += `, at first ${item.was.unknown ? "unknown, nearest " : ""}${item.was.label}`;
  return text;
}

export function tile(item, palette, open, withLabel) {
  const tile = button(picture(item), () => open(tile.item), { className: "tile", item });
  if (withLabel) tile.append(make("span", { className: "label" }), make("span", { className: "sure" }, make("i")));
  mark(tile, palette);
  return tile;
}

// mark says of a tile what is now known of its item.
export function mark(button, palette) {
  const item = button.item;
  const label = button.querySelector(".label");
  button.style.setProperty("--swatch", palette.of(item.label));
  if (label) {
    label.textContent = item.unknown && !item.taught ? item.label + " ?" : item.label;
    button.querySelector(".sure i").style.width = Math.round(100 * item.confidence) + "%";
  }
  button.classList.toggle("unsettled", !item.settled);
  button.classList.toggle("changed", Boolean(item.was));
  button.classList.toggle("wrong", wrong(item));
  button.classList.toggle("unknown", item.unknown && !wrong(item) && !item.taught);
  button.classList.toggle("taught", item.taught);
  button.setAttribute("aria-label", describe(item));
  button.title = describe(item);
}
