// What the stage sends as it answers. Items come with a first answer where the stage answers at once, and are settled later.
export function follow(receive) {
  const source = new EventSource("events");
  source.onerror = () => source.readyState === EventSource.CLOSED && setTimeout(() => follow(receive), 2000);
  for (const [name, take] of Object.entries(receive)) source.addEventListener(name, (event) => take(JSON.parse(event.data)));
}
