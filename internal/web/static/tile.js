// A tile is one item as a button: its picture, or its name where it has none, and what is to be said of it.

export const wrong = (item) => Boolean(item.truth) && !item.taught && item.truth !== item.label;

export function picture(item) {
  if (item.image) {
    const image = document.createElement("img");
    image.src = item.image;
    image.alt = "";
    image.decoding = "async";
    image.referrerPolicy = "no-referrer";
    image.addEventListener("error", () => image.replaceWith(blank(item)));
    return image;
  }
  return blank(item);
}

function blank(item) {
  const text = document.createElement("span");
  text.className = "blank";
  text.textContent = item.name || item.id;
  return text;
}

export function describe(item) {
  let text = item.unknown ? `unknown, nearest ${item.label}` : item.label;
  text += `, ${Math.round(100 * item.confidence)} % sure`;
  if (wrong(item)) text += `, truly ${item.truth}`;
  if (item.taught) text += ", taught";
  return text;
}

export function tile(item, palette, open, withLabel) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tile";
  button.item = item;
  button.style.setProperty("--swatch", palette.of(item.label));
  button.append(picture(item));
  if (withLabel) {
    const label = document.createElement("span");
    label.className = "label";
    label.textContent = item.unknown ? item.label + " ?" : item.label;
    const sure = document.createElement("span");
    sure.className = "sure";
    const share = document.createElement("i");
    share.style.width = Math.round(100 * item.confidence) + "%";
    sure.append(share);
    button.append(label, sure);
  }
  mark(button);
  button.addEventListener("click", () => open(item));
  return button;
}

export function mark(button) {
  const item = button.item;
  button.classList.toggle("wrong", wrong(item));
  button.classList.toggle("unknown", item.unknown && !wrong(item) && !item.taught);
  button.classList.toggle("taught", item.taught);
  button.setAttribute("aria-label", describe(item));
  button.title = describe(item);
}
