// Drawing: SVG elements, scales with ticks, colors of the page, and the tip that shows values on hover.

const SPACE = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and children. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

/** An HTML element; `on…` attributes are listeners. */
export function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

/**
 * A scale from values to pixels; linear ticks are about `spacing` pixels apart.
 * @returns {{(value: number): number, invert: (pixel: number) => number, ticks: number[], log: boolean}}
 */
export function scale(low, high, begin, end, log = false, spacing = 70) {
  const to = log ? Math.log10 : (value) => value;
  const [a, b] = [to(low), to(high)];
  const span = b - a || 1;
  const map = (value) => begin + (end - begin) * ((to(value) - a) / span);
  map.invert = (pixel) => {
    const at = a + span * ((pixel - begin) / (end - begin));
    return log ? 10 ** at : at;
  };
  map.ticks = log ? decades(a, b) : evenTicks(low, high, Math.max(2, Math.abs(end - begin) / spacing));
  map.log = log;
  return map;
}

function evenTicks(low, high, count) {
  const rough = (high - low || 1) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? 10 * power;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step;
    i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** Powers of ten between 10^a and 10^b; over less than two decades also 2 and 5 times them. */
function decades(a, b) {
  const every = Math.max(1, Math.ceil((b - a) / 6)), ticks = [],
    inside = (value) => Math.log10(value) > a - 1e-9 && Math.log10(value) < b + 1e-9;
  for (let i = Math.floor(a); i <= b + 1e-9;
    i += every) ticks.push(...(b - a < 2 ? [1, 2, 5] : [1]).map((one) => one * 10 ** i));
  return ticks.filter(inside);
}

/** The path through the points whose two coordinates are finite. */
export function pathOf(xs, ys) {
  let path = "", begun = false;
  for (let i = 0; i < xs.length; i++) {
    if (!Number.isFinite(xs[i]) || !Number.isFinite(ys[i])) { begun = false; continue; }
    path += `${begun ? "L" : "M"}${xs[i].toFixed(1)} ${ys[i].toFixed(1)}`;
    begun = true;
  }
  return path;
}

/** Dots at the points, as one path of strokes without length. */
export function dotsOf(xs, ys) {
  let path = "";
  for (let i = 0; i < xs.length; i++) {
    if (Number.isFinite(xs[i])
      && Number.isFinite(ys[i])) path += `M${xs[i].toFixed(1)} ${ys[i].toFixed(1)}h0`;
  }
  return path;
}

/** The colors of the page's present scheme, as [r, g, b]. */
export function colors() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => {
    const text = style.getPropertyValue(name).trim().slice(1);
    return [0, 2, 4].map((i) => parseInt(text.slice(i, i + 2), 16));
  };
  return { positive: read("--map-positive"), negative: read("--map-negative"), zero: read("--map-zero") };
}

/** The color of a value from −1 to 1 between the negative, the zero and the positive color. */
export function mixed(value, { positive, negative, zero }) {
  const share = Math.min(1, Math.abs(value)), end = value < 0 ? negative : positive;
  return zero.map((part, i) => Math.round(part + (end[i] - part) * share));
}

/** Shades from −1 to 1 as pixels, 511 of them, for pictures with many. */
export function shades(palette) {
  const pixels = new Uint32Array(511), bytes = new Uint8ClampedArray(pixels.buffer);
  for (let i = 0; i < 511; i++) bytes.set([...mixed((i - 255) / 255, palette), 255], 4 * i);
  return pixels;
}

/** Calls `draw(width, height)` when the element's size changes, and returns the latest size. */
export function sized(element, draw) {
  const size = { width: 0, height: 0 };
  new ResizeObserver(([entry]) => {
    size.width = Math.floor(entry.contentRect.width);
    size.height = Math.floor(entry.contentRect.height);
    draw();
  }).observe(element);
  return size;
}

/** Shows text beside the pointer, or hides it. */
export function tip(text, event) {
  const element = document.getElementById("tip");
  element.hidden = !text;
  if (!text) return;
  element.textContent = text;
  const left = Math.min(event.clientX + 14, innerWidth - element.offsetWidth - 6);
  element.style.left = `${Math.max(4, left)}px`;
  element.style.top = `${Math.max(4, event.clientY - element.offsetHeight - 12)}px`;
}

/** A group of buttons of which one is pressed. */
export function switches(home, label, choices, read, choose) {
  const group = html("span", { class: "choice", role: "group", "aria-label": label });
  const buttons = choices.map(([value, text, about]) => html("button", {
    type: "button", title: about ?? text, onclick: () => choose(value), "data-value": value,
  }, text));
  group.append(...buttons);
  home.append(group);
  return () => buttons.forEach((button, i) =>
    button.setAttribute("aria-pressed", String(choices[i][0] === read())));
}
