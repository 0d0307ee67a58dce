// A label has one colour for as long as the page is open. Colours come round after ten; names always stand beside them.
const colours = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#2aa7a0", "#d4ac0d", "#ec7fa9", "#9c755f", "#7f8fa9"];

export class Palette {
  #of = new Map();

  name(labels) {
    for (const label of labels) this.of(label);
  }

  of(label) {
    if (!this.#of.has(label)) this.#of.set(label, colours[this.#of.size % colours.length]);
    return this.#of.get(label);
  }

  swatch(label) {
    const mark = document.createElement("span");
    mark.className = "swatch";
    mark.style.setProperty("--swatch", this.of(label));
    return mark;
  }
}
