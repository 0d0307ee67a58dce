// What all pages share: elements, requests, and what is said of the stage.
export const at = (id) => document.getElementById(id);

// make is an element with properties and children; children that are null or false are left out.
export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children.filter((child) => child || child === 0));
  return element;
}

export function button(text, act, properties = {}) {
  const element = make("button", { type: "button", ...properties }, text);
  element.addEventListener("click", act);
  return element;
}

// ask is a GET, or with a body a POST. What the stage has against it is thrown.
export async function ask(path, body) {
  const request = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
  const answer = await fetch(path, request);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.status === 204 ? null : answer.json();
}

export function live(state, text) {
  at("live").dataset.state = state;
  if (at("live").textContent !== text) at("live").textContent = text;
}

// said shows an error, or with nothing takes the last one away.
export function said(error) {
  if (error instanceof TypeError) live("lost", "not reached");
  at("message").textContent = error ? error.message : "";
}

// typing says whether a key belongs to a field or to the browser.
export const typing = (event) => event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey;

// offer fills a datalist.
export function offer(list, labels) {
  if (list.children.length !== labels.length) list.replaceChildren(...labels.map((label) => new Option(label, label)));
}

export const whole = new Intl.NumberFormat();
export const count = (n, what) => `${whole.format(n)} ${what}${n === 1 ? "" : "s"}`;
export const moment = (time) => new Date(time).toLocaleString();

// The changes of this session, newest first: what was done, and the requests, each a path and a body, that undo it.
export const changes = JSON.parse(sessionStorage.changes || "[]");

export function keep() {
  changes.splice(20);
  sessionStorage.changes = JSON.stringify(changes);
}

export function changed(change) {
  changes.unshift(change);
  keep();
}

// sure asks before something is done, in the dialog #sure.
export function sure(text, act) {
  const dialog = at("sure");
  at("sure-text").textContent = text;
  dialog.returnValue = "";
  dialog.onclose = () => dialog.returnValue === "yes" && act();
  dialog.showModal();
}
