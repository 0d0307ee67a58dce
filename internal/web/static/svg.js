// The little of SVG that the charts need.
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export function path(points) {
  return points.map(([x, y], i) => (i ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1)).join("");
}

// ticks are three to six round numbers within a range.
export function ticks(low, high) {
  const rough = (high - low) / 4 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const out = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) out.push(t);
  return out;
}

export function empty(host, text) {
  const p = document.createElement("p");
  p.className = "empty";
  p.textContent = text;
  host.replaceChildren(p);
}

// onResize draws again when the host has another width, so that letters keep their size.
export function onResize(host, draw) {
  let width = host.clientWidth;
  new ResizeObserver(() => {
    if (host.clientWidth === width) return;
    width = host.clientWidth;
    draw();
  }).observe(host);
}
