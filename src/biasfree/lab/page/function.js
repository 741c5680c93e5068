// The function at the present time: a map of the plane or a curve over the angle; whole, odd or even part.

import { colors, pathOf, scale, shades, sized, svg, switches, tip } from "./drawing.js";
import { circleValues, momentOf, placeOf, shown } from "./numbers.js";
import { marker } from "./plane.js";
import { presentTime } from "./store.js";

/** Pixels of the map's side before it is stretched. */
const GRID = 120;

export function functionPanel(home, store) {
  const canvas = document.createElement("canvas"), over = svg("svg", { role: "img" });
  canvas.width = canvas.height = GRID;
  home.append(canvas, over);
  const size = sized(home, () => draw(store.values));
  const heading = document.getElementById("function-views"), note = document.getElementById("function-note");
  const toggles = [
    switches(heading, "View", [["plane", "plane"], ["angle", "angle"]], () => store.values.view,
      (view) => store.set({ view })),
    switches(heading, "Part", [["whole", "f"], ["odd", "odd", "odd part"], ["even", "even", "even part"]],
      () => store.values.part, (part) => store.set({ part })),
  ];
  const polar = gridOfAngles();

  function draw(values) {
    const { run } = values;
    if (!size.width || !run) return;
    toggles.forEach((toggle) => toggle());
    over.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    const place = placeOf(run.ts, presentTime(values)), f = circleValues(run, place, values.part);
    canvas.hidden = values.view !== "plane";
    if (values.view === "plane") drawMap(values, f, place); else drawAngles(values, f);
    writeNote(values, place);
  }

  function gridOfAngles() {
    const angle = new Float32Array(GRID * GRID), length = new Float32Array(GRID * GRID);
    for (let row = 0; row < GRID; row++) {
      for (let column = 0; column < GRID; column++) {
        const x = (2 * (column + 0.5)) / GRID - 1, y = 1 - (2 * (row + 0.5)) / GRID, i = row * GRID + column;
        angle[i] = (Math.atan2(y, x) / (2 * Math.PI) + 1) % 1;
        length[i] = Math.hypot(x, y);
      }
    }
    return { angle, length };
  }

  function drawMap(values, f, place) {
    const side = Math.min(size.width, size.height), left = (size.width - side) / 2,
      top = (size.height - side) / 2;
    Object.assign(canvas.style,
      { width: `${side}px`, height: `${side}px`, left: `${left}px`, top: `${top}px` });
    const reach = Math.max(...values.samples.map(([x, y]) => Math.hypot(x, y)), 0.1) * 1.12;
    const most = Math.max(...values.samples.map((sample) => Math.abs(sample[2])), 1e-9);
    paint(f, reach / most);
    const unit = side / 2 / reach, pixel = (x, y) => [left + side / 2 + unit * x, top + side / 2 - unit * y],
      parts = [];
    for (const angle of boundaryAngles(values, f, place)) {
      const [x, y] = pixel(reach * Math.SQRT2 * Math.cos(angle), reach * Math.SQRT2 * Math.sin(angle));
      parts.push(svg("line", { class: "boundary", x1: left + side / 2, y1: top + side / 2, x2: x, y2: y }));
    }
    for (const [x, y, target] of values.samples) parts.push(marker(...pixel(x, y), target, 5, "point"));
    const clip = svg("clipPath", { id: "map-clip" },
      svg("rect", { x: left, y: top, width: side, height: side }));
    over.replaceChildren(clip, svg("g", { "clip-path": "url(#map-clip)" }, ...parts));
    over.setAttribute("aria-label", "Map of the output on the plane");
  }

  function paint(f, factor) {
    const pen = canvas.getContext("2d"), picture = pen.createImageData(GRID, GRID), n = f.length;
    const pixels = new Uint32Array(picture.data.buffer), palette = shades(colors());
    for (let i = 0; i < GRID * GRID; i++) {
      const at = polar.angle[i] * n, k = Math.floor(at), share = at - k;
      const value = polar.length[i] * factor * (f[k % n] * (1 - share) + f[(k + 1) % n] * share);
      pixels[i] = palette[255 + Math.round(255 * Math.max(-1, Math.min(1, value)))];
    }
    pen.putImageData(picture, 0, 0);
  }

  /** The measured boundary at the present time, or where the drawn part changes its sign. */
  function boundaryAngles({ measures, part }, f, place) {
    const i = momentOf(measures, place);
    if (part === "whole" && i >= 0 && measures.places[i] === place) return measures.moments[i].zeros;
    const n = f.length, angles = [];
    for (let k = 0; k < n; k++) {
      const [here, next] = [f[k], f[(k + 1) % n]];
      if (here !== 0 && here * next < 0) angles.push((2 * Math.PI * (k + here / (here - next))) / n);
    }
    return angles;
  }

  function drawAngles(values, f) {
    const left = 40, right = size.width - 8, top = 8, bottom = size.height - 24, n = f.length;
    const points = values.samples.filter(([x, y]) => x || y).map(([x, y, target]) =>
      [(Math.atan2(y, x) * 180) / Math.PI, target / Math.hypot(x, y), target]);
    const most = 1.1 * Math.max(...Array.from(f, Math.abs), ...points.map((point) => Math.abs(point[1])),
      1e-12);
    const x = scale(-180, 180, left, right), y = scale(-most, most, bottom, top, false, 35), parts = [];
    for (const degrees of [-180, -90, 0, 90, 180]) {
      parts.push(svg("line", { class: "grid", x1: x(degrees), x2: x(degrees), y1: top, y2: bottom }));
      parts.push(svg("text", { x: x(degrees), y: bottom + 15,
        "text-anchor": degrees === 180 ? "end" : "middle" }, `${shown(degrees)}°`));
    }
    for (const v of y.ticks) parts.push(svg("text", { x: left - 5, y: y(v) + 4, "text-anchor": "end" },
      shown(v)));
    parts.push(svg("line", { class: "axis", x1: left, x2: right, y1: y(0), y2: y(0) }));
    const angles = Array.from({ length: n + 1 }, (_, i) => -180 + (360 * i) / n);
    const heights = angles.map((degrees) => y(f[((Math.round((degrees / 360) * n) % n) + n) % n]));
    parts.push(svg("path", { class: "curve", d: pathOf(angles.map(x), heights) }));
    for (const [degrees, height, target] of points) parts.push(marker(x(degrees), y(height), target, 5,
      "point"));
    over.replaceChildren(...parts);
    over.setAttribute("aria-label", "Output on the unit circle over the angle; samples at y/|x|");
  }

  function writeNote({ measures, samples, state }, place) {
    const i = momentOf(measures, place);
    if (i < 0) { note.textContent = ""; return; }
    const { distance, zeros, even } = measures.moments[i], least = Math.min(...distance);
    const number = (distance.indexOf(least) % samples.length) + 1,
      mirrored = state?.mirror && distance.indexOf(least) >= samples.length;
    const nearestOne = `sample ${number}${mirrored ? "′" : ""} is nearest, at ${shown(least)}`;
    note.textContent = `${zeros.length} boundary rays; ${nearestOne}. Even share ${shown(even)}.`;
  }

  over.addEventListener("pointermove", (event) => {
    const { run, view, part, measures } = store.values;
    if (!run) return;
    const box = over.getBoundingClientRect(), place = placeOf(run.ts, presentTime(store.values)),
      f = circleValues(run, place, part);
    if (view !== "plane") {
      const degrees = -180 + (360 * (event.clientX - box.left - 40)) / (box.width - 48),
        k = Math.round((degrees / 360) * f.length);
      tip(`${shown(degrees)}°: ${shown(f[((k % f.length) + f.length) % f.length])}`, event);
      return;
    }
    const side = Math.min(box.width, box.height),
      reach = Math.max(...store.values.samples.map(([x, y]) => Math.hypot(x, y)), 0.1) * 1.12;
    const x = ((event.clientX - box.left - box.width / 2) / side) * 2 * reach,
      y = (-(event.clientY - box.top - box.height / 2) / side) * 2 * reach;
    const at = ((Math.atan2(y, x) / (2 * Math.PI) + 1) % 1) * f.length, k = Math.floor(at), share = at - k;
    const value = Math.hypot(x, y) * (f[k % f.length] * (1 - share) + f[(k + 1) % f.length] * share);
    const near = store.values.samples.findIndex(([u, v]) => Math.hypot(u - x, v - y) < 0.06 * reach),
      i = momentOf(measures, place);
    const distance = near >= 0 && i >= 0
      ? `\nsample ${near + 1}: ${shown(measures.moments[i].distance[near])} from the boundary` : "";
    tip(`f(${shown(x)}, ${shown(y)}) = ${shown(value)}${distance}`, event);
  });
  over.addEventListener("pointerleave", () => tip("", null));

  store.listen((values, changed) => {
    const mine = ["run", "time", "samples", "part", "view", "measures", "scheme"];
    if (mine.some((name) => changed.has(name))) draw(values);
  });
}
