// The sign-in form: the token becomes a cookie that scripts cannot read.
import { at, el, icon } from "./parts.js";

const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
const input = el("input", { id: "token", name: "token", type: "password", autocomplete: "current-password", spellcheck: "false", required: true, "aria-describedby": "err" });
const err = el("p", { class: "err", id: "err", role: "alert", hidden: true });
const eye = el("button", { class: "b ghost icon", type: "button", "aria-label": "Show the token", "aria-pressed": "false", onclick: () => {
  input.type = input.type === "password" ? "text" : "password";
  eye.setAttribute("aria-pressed", String(input.type === "text"));
} }, icon("eye"));

function refuse(why) {
  err.hidden = false;
  err.replaceChildren(icon("warn"), why);
  input.setAttribute("aria-invalid", "true");
  input.focus();
}

async function send(event) {
  event.preventDefault();
  try {
    const answer = await fetch("signin", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token: input.value.trim() }) });
    if (answer.ok) location.reload();
    else refuse(answer.status === 401 ? "That is not the token. Was all of it copied?" : (await answer.text()).trim());
  } catch {
    refuse("The stage cannot be reached.");
  }
}

at("main").className = "door";
at("main").append(el("form", { class: "card", onsubmit: send }, el("img", { src: "static/icon.svg", alt: "" }),
  el("div", {}, el("h1", {}, "Sign in to slkstream"), el("p", { class: "soft" }, "This stage asks for a token.")),
  el("input", { type: "text", name: "username", autocomplete: "username", value: "slkstream", hidden: true }),
  el("label", {}, "Token", el("span", { class: "field" }, icon("lock"), input, eye)), err, el("button", { class: "b primary" }, "Sign in"),
  el("div", { class: "help" }, el("p", {}, "Who runs the stage has it: it is in the file that ", el("code", {}, "--listen-token-file"), " names."),
    el("p", {}, "The token of ", el("code", {}, "view="), " works too. It reads and changes nothing."))));
input.focus();
