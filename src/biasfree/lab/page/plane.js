// The plane: samples, hyperplanes as spokes, neurons as rays. Samples are moved by pointer and keyboard.

import { colors, html, mixed, sized, svg, tip } from "./drawing.js";
import { placeOf, shown } from "./numbers.js";
import { presentTime } from "./store.js";

/** Exponent by which the longest ray grows with |w|: from tiny weights its growth would not be seen. */
const GROWTH = 0.15;
/** Share of the run for which a collapse stays marked. */
const MARKED = 0.03;
/** Samples beyond which only the chosen one shows its target. */
const CROWD = 12;
/** Pixels within which a neuron is under the pointer. */
const NEAR = 6;

/**
 * @param {HTMLElement} home
 * @param {ReturnType<import("./store.js").createStore>} store
 * @param {{move?: (i: number, sample: number[], rest: boolean) => void, add?: (sample: number[]) => void,
 * remove?: (i: number) => void}} edit
 */
export function planePanel(home, store, edit = {}) {
  const layers = Object.fromEntries(["grid", "spokes", "rays", "marks", "ghosts",
    "samples"].map((name) => [name, svg("g", { class: name })]));
  const picture = svg("svg", { role: "group", "aria-label": "Plane with samples and neurons" },
    ...Object.values(layers));
  home.append(picture);
  let unit = 1, radius = 1, center = [0, 0], heads = [];
  const size = sized(home, () => draw(store.values));
  const toPixel = ([x, y]) => [center[0] + unit * x, center[1] - unit * y];
  const toPlane = (event) => {
    const box = picture.getBoundingClientRect();
    const round = (value) => Math.round(value * 200) / 200;
    return [round((event.clientX - box.left - center[0]) / unit),
      round((center[1] - event.clientY + box.top) / unit)];
  };

  function fit(samples) {
    radius = Math.max(10, Math.min(size.width, size.height) / 2 - 14);
    center = [size.width / 2, size.height / 2];
    const reach = Math.max(...samples.map(([x, y]) => Math.hypot(x, y)), 0.1) * 1.12;
    if (!dragging) unit = radius / reach;
    picture.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  }

  function draw(values) {
    if (!size.width || !values.samples.length) return;
    picture.setAttribute("data-proposed", values.proposed);
    fit(values.samples);
    drawGrid();
    drawSpokes(values);
    drawRays(values);
    drawSamples(values);
  }

  function drawGrid() {
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20].find((one) => one * unit > 42) ?? 50, parts = [];
    for (let r = step; r * unit < 1.5 * radius; r += step) {
      parts.push(svg("circle", { cx: center[0], cy: center[1], r: r * unit }));
    }
    const [x, y] = center;
    parts.push(svg("line", { x1: 0, y1: y, x2: size.width, y2: y }),
      svg("line", { x1: x, y1: 0, x2: x, y2: size.height }));
    parts.push(svg("text", { x: size.width - 4, y: y - 5, "text-anchor": "end" }, "x₁"),
      svg("text", { x: x + 6, y: 13 }, "x₂"));
    parts.push(svg("text", { x: x + step * unit + 2, y: y + 13, "text-anchor": "middle" }, shown(step)));
    layers.grid.replaceChildren(...parts);
  }

  function drawSpokes({ samples, selected, state }) {
    const far = Math.hypot(size.width, size.height);
    const lines = samples.map(([x, y], i) => {
      const length = Math.hypot(x, y);
      if (!length) return "";
      const [dx, dy] = [-y / length, x / length];
      return svg("line", {
        class: i === selected ? "spoke chosen" : "spoke",
        x1: center[0] - far * dx, y1: center[1] + far * dy, x2: center[0] + far * dx,
          y2: center[1] - far * dy,
      });
    });
    layers.spokes.replaceChildren(...lines);
    const ghosts = state?.mirror ? samples.map(([x, y, target]) => {
      const [gx, gy] = toPixel([-x, -y]);
      return marker(gx, gy, -target, 7, "ghost");
    }) : [];
    layers.ghosts.replaceChildren(...ghosts);
  }

  function drawRays(values) {
    const { run } = values;
    if (!run) return layers.rays.replaceChildren();
    const place = placeOf(run.ts, presentTime(values)), n = run.width, begin = place * n;
    let longest = 0;
    for (let h = begin; h < begin + n;
      h++) longest = Math.max(longest, Math.hypot(run.w[2 * h], run.w[2 * h + 1]));
    const reach = 0.86 * radius * (longest / (run.largest || 1)) ** GROWTH / (longest || 1);
    let plus = "", minus = "", plusHeads = "", minusHeads = "";
    heads = [];
    const rings = [];
    for (let h = begin; h < begin + n; h++) {
      const [u, v] = [run.w[2 * h], run.w[2 * h + 1]];
      const x = center[0] + reach * u, y = center[1] - reach * v;
      heads.push([x, y, h]);
      const line = `M${center[0]} ${center[1]}L${x.toFixed(1)} ${y.toFixed(1)}`;
      if (run.a[h] >= 0) { plus += line; plusHeads += `M${x.toFixed(1)} ${y.toFixed(1)}h0`; }
      else { minus += line; minusHeads += `M${(x - 3).toFixed(1)} ${y.toFixed(1)}l3 -3l3 3l-3 3z`; }
      if (run.sliding[h] && Math.hypot(u, v) > 0.02 * longest) rings.push(svg("circle",
        { class: "ring", cx: x, cy: y, r: 5.5 }));
    }
    layers.rays.replaceChildren(
      svg("path", { class: "ray minus", d: minus }), svg("path", { class: "ray plus", d: plus }),
      svg("path", { class: "head minus", d: minusHeads }), svg("path", { class: "head plus", d: plusHeads }),
        ...rings);
    drawMarks(values, rings.length, longest);
  }

  function drawMarks(values, sliding, longest) {
    const { run } = values, now = presentTime(values), end = run.ts[run.ts.length - 1];
    const before = (kind) => run.events.filter(([t, name]) => name === kind && t <= now);
    const recent = before("collapses").filter(([t]) => now - t < MARKED * end).length;
    const branched = run.branches.filter((t) => t <= now && now - t < MARKED * end).length;
    const [x, y] = center, marks = [];
    if (recent) marks.push(svg("path", { class: "collapse", d: `M${x - 8} ${y - 8}l16 16m0 -16l-16 16` }));
    if (branched) marks.push(svg("path", { class: "branch", d: `M${x} ${y - 13}l11 19h-22z` }));
    layers.marks.replaceChildren(...marks);
    const counts = [`longest |w| ${shown(longest)}`, `${sliding} slide`],
      collapsed = before("collapses").length;
    if (collapsed) counts.push(`${collapsed} collapsed`);
    if (run.branches.length) counts.push(`${run.branches.filter((t) => t <= now).length} branched`);
    document.getElementById("plane-note").textContent = counts.join(" · ");
  }

  const scaleOf = (samples) => Math.max(...samples.map((sample) => Math.abs(sample[2])), 1e-9);

  function drawSamples({ samples, selected }) {
    const palette = colors(), most = scaleOf(samples);
    while (layers.samples.children.length > samples.length) layers.samples.lastChild.remove();
    samples.forEach((sample, i) => {
      const node = layers.samples.children[i] ?? layers.samples.appendChild(sampleNode(i));
      const [x, y] = toPixel(sample), target = sample[2];
      node.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
      node.setAttribute("class", i === selected ? "sample chosen" : "sample");
      const shape = node.querySelector(".shape"), size = 9;
      shape.setAttribute("d", target >= 0
        ? `M${-size} 0a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0z`
        : `M-8 -8h16v16h-16z`);
      shape.setAttribute("fill", `rgb(${mixed(target / most, palette)})`);
      node.querySelector("text").textContent = samples.length > CROWD && i !== selected ? "" : shown(target);
      node.setAttribute("aria-label",
        `Sample ${i + 1} at (${shown(sample[0])}, ${shown(sample[1])}), target ${shown(target)}.`
        + (edit.move ? " Arrow keys move it, plus and minus change its target, Delete removes it." : ""));
    });
  }

  let dragging = false, resting = 0;

  function sampleNode(i) {
    const node = svg("g", { tabindex: 0, role: "button", "data-sample": i },
      svg("circle", { class: "grip", r: 17 }), svg("path", { class: "shape" }),
        svg("text", { x: 13, y: -9 }));
    node.addEventListener("focus", () => store.set({ selected: i }));
    node.addEventListener("blur", () => store.set({ selected: -1 }));
    if (!edit.move) return node;
    node.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      node.focus();
      node.setPointerCapture(event.pointerId);
      dragging = true;
    });
    node.addEventListener("pointermove", (event) => {
      if (!dragging || !node.hasPointerCapture(event.pointerId)) return;
      const [x, y] = toPlane(event), move = (rest) => edit.move(i, [x, y, store.values.samples[i][2]], rest);
      move(false);
      clearTimeout(resting);
      resting = setTimeout(() => dragging && move(true), 200);
    });
    const drop = (event) => {
      if (!dragging) return;
      dragging = false;
      clearTimeout(resting);
      node.releasePointerCapture?.(event.pointerId);
      edit.move(i, store.values.samples[i], true);
    };
    node.addEventListener("pointerup", drop);
    node.addEventListener("pointercancel", drop);
    node.addEventListener("wheel", (event) => {
      event.preventDefault();
      retarget(i, event.deltaY < 0 ? 0.1 : -0.1);
    }, { passive: false });
    node.addEventListener("dblclick", (event) => event.stopPropagation());
    node.addEventListener("keydown", (event) => onKey(event, i));
    return node;
  }

  function retarget(i, change) {
    const [x, y, target] = store.values.samples[i];
    edit.move(i, [x, y, Math.round((target + change) * 1000) / 1000], true);
  }

  function onKey(event, i) {
    const step = event.shiftKey ? 0.01 : 0.05, [x, y, target] = store.values.samples[i];
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    const round = (value) => Math.round(value * 1e6) / 1e6;
    if (moves[event.key]) edit.move(i,
      [round(x + moves[event.key][0]), round(y + moves[event.key][1]), target], true);
    else if (event.key === "+" || event.key === "=") retarget(i, 0.1);
    else if (event.key === "-") retarget(i, -0.1);
    else if (event.key === "Delete" || event.key === "Backspace") edit.remove?.(i);
    else return;
    event.preventDefault();
  }

  picture.addEventListener("dblclick", (event) => {
    const [x, y] = toPlane(event);
    edit.add?.([x, y, event.shiftKey ? -1 : 1]);
  });
  picture.addEventListener("pointermove", (event) => hover(event));
  picture.addEventListener("pointerleave", () => tip("", null));

  function hover(event) {
    const sample = event.target.closest?.(".sample");
    if (dragging) return tip("", event);
    if (!sample) return tip(neuronAt(event), event);
    const i = Number(sample.dataset.sample), [x, y, target] = store.values.samples[i];
    tip(`sample ${i + 1}: x = (${shown(x)}, ${shown(y)}), y = ${shown(target)}`, event);
  }

  /** The neuron whose ray ends at the pointer, in words. */
  function neuronAt(event) {
    const box = picture.getBoundingClientRect(), { run } = store.values,
      [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const found = heads.find(([x, y]) => Math.hypot(x - px, y - py) < NEAR);
    if (!found || !run) return "";
    const h = found[2], slides = run.sliding[h]
      ? `\nslides on the hyperplane of sample ${((run.sliding[h] - 1) % store.values.samples.length) + 1}`
      : "";
    const w = `(${shown(run.w[2 * h])}, ${shown(run.w[2 * h + 1])})`;
    return `neuron ${(h % run.width) + 1}: w = ${w}, a = ${shown(run.a[h])}${slides}`;
  }

  /**
   * Buttons for the chosen sample, for fingers, which have neither wheel nor keys; a press keeps it chosen.
   */
  function pickedButtons() {
    const name = html("span"), change = (text, label, act) => html("button", {
      type: "button", "aria-label": label, tabindex: -1, onpointerdown: (event) => event.preventDefault(),
        onclick: () => act(store.values.selected),
    }, text);
    const buttons = html("div", { class: "picked", hidden: true }, name,
      change("− 0.1", "Lower its target", (i) => retarget(i, -0.1)),
        change("+ 0.1", "Raise its target", (i) => retarget(i, 0.1)),
      change("remove", "Remove it", (i) => edit.remove(i)));
    home.append(buttons);
    return ({ selected, samples }) => {
      buttons.hidden = !samples[selected];
      if (samples[selected]) name.textContent = `sample ${selected + 1}: y = ${shown(samples[selected][2])}`;
    };
  }

  const showPicked = edit.move ? pickedButtons() : () => {};
  store.listen((values, changed) => {
    if (changed.has("selected") || changed.has("samples")) showPicked(values);
    const mine = ["samples", "run", "time", "selected", "state", "scheme"];
    if (mine.some((name) => changed.has(name))) draw(values);
  });
}

/** A marker of a sample: a disk for targets ≥ 0, a square below. */
export function marker(x, y, target, size, name) {
  return target >= 0
    ? svg("circle", { class: name, cx: x, cy: y, r: size })
    : svg("rect", { class: name, x: x - size + 1, y: y - size + 1, width: 2 * size - 2,
      height: 2 * size - 2 });
}
