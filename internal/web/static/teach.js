// The dialog in which a person looks at an item and says what it is.
import { describe, picture } from "./tile.js";

const mostChoices = 24;

export class TeachDialog {
  allowed = false;
  #at = (id) => document.getElementById(id);
  #dialog = this.#at("teach");
  #palette; #taught;
  #labels = [];
  #item = null;
  #hide = 0;

  constructor(palette, taught) {
    this.#palette = palette;
    this.#taught = taught;
    this.#at("teach-send").addEventListener("click", () => this.#send(this.#at("teach-other").value));
    this.#at("teach-other").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.#send(event.target.value);
    });
    this.#dialog.addEventListener("keydown", (event) => {
      if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^[0-9]$/.test(event.key)) this.#at("teach-choices").children[(Number(event.key) + 9) % 10]?.click();
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
    this.#at("teach-picture").replaceChildren(picture(item));
    this.#at("teach-title").textContent = describe(item);
    const rest = (item.alternatives || []).map((a) => `${a.label} ${Math.round(100 * a.confidence)} %`).join(", ");
    const sure = item.calibrated ? "" : "the confidence is not calibrated yet";
    this.#at("teach-about").textContent = [rest && "else " + rest, sure, item.name, item.id].filter(Boolean).join("\n");
    this.#why(item);
    this.#at("teach-body").hidden = !this.allowed;
    this.#at("teach-message").textContent = this.allowed ? "" : "To teach, start the stage with --labels TOPIC.";
    this.#at("teach-other").value = "";
    this.#at("teach-choices").replaceChildren(...this.#labels.slice(0, mostChoices).map((label, i) => {
      const choice = document.createElement("button");
      choice.type = "button";
      choice.append(this.#palette.swatch(label), label);
      if (i < 10) {
        const key = document.createElement("kbd");
        key.textContent = String((i + 1) % 10);
        choice.append(key);
      }
      choice.addEventListener("click", () => this.#send(label));
      return choice;
    }));
    this.#dialog.showModal();
  }

  // The neighbours of an item in its episode, and what they are called, are most of why it is called what it is.
  #why(item) {
    const neighbours = item.neighbours || [];
    this.#at("teach-why").hidden = neighbours.length === 0;
    const same = neighbours.filter((n) => n.label === item.label).length;
    this.#at("teach-reason").textContent = `${same} of its ${neighbours.length} neighbours in its episode are ${item.label}` +
      (item.unknown ? `; it is far from every ${item.label} that was taught or learned, and so unknown.` : `, and ${item.label} is the class it is near to.`);
    this.#at("teach-neighbours").replaceChildren(...neighbours.slice(0, 8).map((n) => {
      const one = document.createElement("figure");
      const name = document.createElement("figcaption");
      name.append(this.#palette.swatch(n.label), n.label);
      one.append(picture(n), name);
      return one;
    }));
  }

  async #send(label) {
    label = label.trim();
    if (!label) {
      this.#at("teach-other").focus();
      return;
    }
    const item = this.#item;
    const message = this.#at("teach-message");
    message.textContent = "";
    try {
      const answer = await fetch("api/teach", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ id: item.id, label }) });
      if (!answer.ok) {
        message.textContent = (await answer.text()).trim();
        return;
      }
    } catch {
      message.textContent = "The stage could not be reached; nothing was taught.";
      return;
    }
    this.#taught(item.id, label);
    this.#dialog.close();
    this.#say(`Taught: this is ${label}. It counts from the next episode on.`);
  }

  #say(text) {
    const toast = this.#at("toast");
    toast.textContent = text;
    clearTimeout(this.#hide);
    this.#hide = setTimeout(() => (toast.textContent = ""), 4000);
  }
}
