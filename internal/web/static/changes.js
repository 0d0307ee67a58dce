// The changes of this tab, newest first: what was done, to which name, and the requests, each a path and a body, that undo it.
import { ask, refresh, said } from "./shell.js";
import { toast } from "./parts.js";

export const changes = JSON.parse(sessionStorage.changes || "[]");
const keep = () => { changes.splice(20); sessionStorage.changes = JSON.stringify(changes); };

// changed notes a change, says so and offers to undo it. then is called once it is undone.
export function changed(change, then = refresh) {
  changes.unshift(change);
  keep();
  toast(change.text + ".", change.undo.length ? () => undo(change).then(then, said) : null);
}

export async function undo(change) {
  for (const [path, body] of change.undo) await ask(path, body);
  if (changes.includes(change)) changes.splice(changes.indexOf(change), 1);
  keep();
  toast("Taken back.");
}
