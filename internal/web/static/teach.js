// The dialog in which a person looks at an item and says what it is.
import { ask, at, button, make, typing } from "./dom.js";
import { describe, picture } from "./tile.js";
import { why } from "./why.js";

const mostChoices = 24;

export class TeachDialog {
  allowed = false;
  #dialog = at("teach");
  #palette; #taught;
  #labels = [];
  #item = null;
  #hide = 0;

  constructor(palette, taught) {
    this.#palette = palette;
    this.#taught = taught;
    at("teach-send").addEventListener("click", () => this.#send(at("teach-other").value));
    at("teach-other").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.#send(event.target.value);
    });
    this.#dialog.addEventListener("keydown", (event) => {
      if (typing(event)) return;
      if (/^[0-9]$/.test(event.key)) at("teach-choices").children[(Number(event.key) + 9) % 10]?.click();
    });
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close(); // beside it
    });
  }

  labels(labels) {
    for (const label of labels) if (label && !this.#labels.includes(label)) this.#labels.push(label);
  }

  open(item) {
    this.#item = item;
    at("teach-picture").replaceChildren(picture(item));
    at("teach-title").textContent = describe(item);
    const rest = (item.alternatives || []).map((a) => `${a.label} ${Math.round(100 * a.confidence)} %`).join(", ");
    const sure = item.calibrated ? "" : "the confidence is not calibrated yet";
    at("teach-about").textContent = [rest && "else " + rest, sure, item.name, item.id].filter(Boolean).join("\n");
    this.#why(item);
    why(at("teach-examples"), item.id).catch(() => {}); // it was long ago
    at("teach-body").hidden = !this.allowed;
    at("teach-message").textContent = this.allowed ? "" : "To teach, start the stage with --labels TOPIC.";
    at("teach-other").value = "";
    at("teach-choices").replaceChildren(...this.#labels.slice(0, mostChoices).map((label, i) => {
      const choice = button(this.#palette.swatch(label), () => this.#send(label));
      choice.append(label);
      if (i < 10) choice.append(make("kbd", {}, String((i + 1) % 10)));
      return choice;
    }));
    this.#dialog.showModal();
  }

  // The neighbours of an item in its episode, and what they are called, are most of why it is called what it is.
  #why(item) {
    const neighbours = item.neighbours || [];
    at("teach-why").hidden = neighbours.length === 0;
    const same = neighbours.filter((n) => n.label === item.label).length;
    at("teach-reason").textContent = `${same} of its ${neighbours.length} neighbours in its episode are ${item.label}` +
      (item.unknown ? `; it is far from every ${item.label} that was taught or learned, and so unknown.` : `, and ${item.label} is the class it is near to.`);
    at("teach-neighbours").replaceChildren(...neighbours.slice(0, 8).map((n) => {
      return make("figure", {}, picture(n), make("figcaption", {}, this.#palette.swatch(n.label), n.label));
    }));
  }

  async #send(label) {
    label = label.trim();
    if (!label) {
      at("teach-other").focus();
      return;
    }
    const item = this.#item;
    const message = at("teach-message");
    message.textContent = "";
    try {
      await ask("api/teach", { id: item.id, label });
    } catch (error) {
      message.textContent = error instanceof TypeError ? "The stage could not be reached; nothing was taught." : error.message;
      return;
    }
    this.#taught(item.id, label);
    this.#dialog.close();
    this.#say(`Taught: this is ${label}. It counts from the next episode on.`);
  }

  #say(text) {
    const toast = at("toast");
    toast.textContent = text;
    clearTimeout(this.#hide);
    this.#hide = setTimeout(() => (toast.textContent = ""), 4000);
  }
}
