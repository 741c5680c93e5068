// The loss over time: the run as dots, predictions as lines, plateaus shaded, events as ticks, a time handle.

import { dotsOf, pathOf, scale, sized, svg, switches, tip } from "./drawing.js";
import { nearest, shown } from "./numbers.js";
import { presentTime } from "./store.js";

const MARGIN = { left: 56, right: 14, top: 12, bottom: 42 };
/** Height of the tick of each kind of event above the axis. */
const EVENTS = { slides: 7, releases: 7, collapses: 11, departures: 11 };

export function lossPanel(home, store) {
  const frame = svg("g", { class: "frame" }), curves = svg("g", { class: "curves" }),
    cursor = svg("g", { class: "cursor" });
  const picture = svg("svg", { role: "group", "aria-label": "Loss over time" }, frame, curves, cursor);
  home.append(picture);
  const size = sized(home, () => draw(store.values));
  const legend = document.createElement("div");
  legend.className = "legend";
  home.append(legend);
  const axes = document.getElementById("loss-axes");
  const toggles = [
    switches(axes, "Time axis", [[false, "t"], [true, "log t"]], () => store.values.logTime,
      (logTime) => store.set({ logTime })),
    switches(axes, "Loss axis", [[false, "L"], [true, "log L"]], () => store.values.logLoss,
      (logLoss) => store.set({ logLoss })),
  ];
  let x = null, y = null;

  function scales({ run, growing, horizon, logTime, logLoss, earlier }) {
    const end = horizon ?? run?.ts[run.ts.length - 1] ?? 1;
    const ts = run?.ts ?? growing?.ts ?? [],
      losses = (run?.loss ?? growing?.loss ?? []).filter((v) => v !== null);
    const first = [...ts].find((t) => t > 0) ?? end / 1000;
    const high = Math.max(...losses, ...earlier.slice(-1).map((one) => one.loss[0] ?? 0), 1e-300);
    const low = logLoss ? Math.max(Math.min(...losses.filter((v) => v > 0), high / 2), high * 1e-12) : 0;
    x = scale(logTime ? first : 0, end, MARGIN.left, size.width - MARGIN.right, logTime);
    y = scale(low, logLoss ? high * 1.4 : high * 1.06, size.height - MARGIN.bottom, MARGIN.top, logLoss, 50);
  }

  function draw(values) {
    if (!size.width || !(values.run || values.growing)) return;
    picture.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    picture.setAttribute("data-answered", values.answered);
    scales(values);
    drawFrame(values);
    drawCurves(values);
    drawCursor(values);
    toggles.forEach((toggle) => toggle());
  }

  function drawFrame({ plateaus, run }) {
    const bottom = size.height - MARGIN.bottom, right = size.width - MARGIN.right, parts = [];
    for (const [begin, end] of plateaus) {
      const from = Math.max(MARGIN.left, x(Math.max(begin, x.invert(MARGIN.left)))),
        to = Math.min(right, x(end));
      if (to > from) parts.push(svg("rect",
        { class: "plateau", x: from, y: MARGIN.top, width: to - from, height: bottom - MARGIN.top }));
    }
    for (const t of x.ticks) {
      parts.push(svg("line", { class: "grid", x1: x(t), x2: x(t), y1: MARGIN.top, y2: bottom }));
      parts.push(svg("text", { x: x(t), y: bottom + 28, "text-anchor": "middle" }, shown(t)));
    }
    for (const v of y.ticks) {
      parts.push(svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: y(v), y2: y(v) }));
      parts.push(svg("text", { x: MARGIN.left - 7, y: y(v) + 4, "text-anchor": "end" }, shown(v)));
    }
    parts.push(svg("line", { class: "axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }));
    parts.push(svg("text", { class: "name", x: right, y: bottom + 41, "text-anchor": "end" }, "time t"));
    frame.replaceChildren(...parts, ...eventTicks(run, bottom));
  }

  function eventTicks(run, bottom) {
    if (!run) return [];
    const paths = {};
    for (const [t, kind] of run.events) {
      const at = x(Math.max(t, 1e-300));
      if (at < MARGIN.left) continue;
      const height = EVENTS[kind] ?? 6;
      paths[kind] = (paths[kind] ?? "") + (kind === "collapses"
        ? `M${at - 3} ${bottom + 7}l6 6m0 -6l-6 6`
        : `M${at.toFixed(1)} ${bottom + 4}v${height}`);
    }
    const branches = run.branches.filter((t) => t > 0).map((t) =>
      `M${x(t) - 4} ${bottom + 14}l4 -8l4 8z`).join("");
    return [...Object.entries(paths).map(([kind, d]) => svg("path", { class: `event ${kind}`, d })),
      svg("path", { class: "event branch", d: branches })];
  }

  const xsOf = (ts) => Array.from(ts, (t) => x.log && t <= 0 ? NaN : x(t));
  const ysOf = (losses) => losses.map((v) => v === null || (y.log && v <= 0) ? NaN : y(v));

  function drawCurves({ run, exact, growing, lines, twin, earlier }) {
    const parts = [], bottom = size.height - MARGIN.bottom;
    const clip = svg("clipPath", { id: "loss-clip" }, svg("rect", {
      x: MARGIN.left - 4, y: MARGIN.top - 6, width: Math.max(0, size.width - MARGIN.left - MARGIN.right + 8),
        height: Math.max(0, bottom - MARGIN.top + 10),
    }));
    earlier.forEach((one, i) =>
      parts.push(svg("path", { class: `earlier age${earlier.length - i}`,
      d: pathOf(xsOf(one.ts), ysOf(one.loss)) })));
    if (growing && !exact) parts.push(svg("path",
      { class: "dots", d: dotsOf(...thinned(xsOf(growing.ts), ysOf(growing.loss))) }));
    if (run) {
      const xs = xsOf(run.ts), ys = ysOf(run.loss);
      parts.push(exact ? svg("path", { class: "dots", d: dotsOf(...thinned(xs, ys)) })
        : svg("path", { class: "preview", d: pathOf(xs, ys) }));
      if (twin) parts.push(svg("path", { class: "line twin", d: pathOf(xs, ysOf(twin)) }));
      lines.forEach((line, i) =>
        parts.push(svg("path", { class: `line theory${i % 4}`, d: pathOf(xs, ysOf(line.loss)) })));
    }
    curves.replaceChildren(clip, svg("g", { "clip-path": "url(#loss-clip)" }, ...parts));
    drawLegend({ exact, lines, twin, earlier, run });
  }

  /** Every point but those within five pixels of the last one kept: dots remain dots. */
  function thinned(xs, ys) {
    const keptX = [], keptY = [];
    xs.forEach((at, i) => {
      const last = keptX.length - 1;
      if (last >= 0 && Math.hypot(at - keptX[last], ys[i] - keptY[last]) < 6) return;
      if (Number.isFinite(at) && Number.isFinite(ys[i])) { keptX.push(at); keptY.push(ys[i]); }
    });
    return [keptX, keptY];
  }

  function drawLegend({ exact, lines, twin, earlier, run }) {
    const roomy = size.width > 420,
      rows = [["key " + (exact ? "dots" : "preview"), exact ? "simulation" : "preview"]];
    lines.forEach((line, i) => rows.push([`key line theory${i % 4}`, line.title]));
    if (twin) rows.push(["key line twin", "linear twin"]);
    if (earlier.length) rows.push(["key earlier", "earlier runs"]);
    if (roomy && run?.events.length) rows.push(["key event slides", "slides and releases"]);
    if (roomy && run?.events.some(([, kind]) => kind === "collapses")) rows.push(["key event collapses",
      "collapse"]);
    if (roomy && run?.branches.some((t) => t > 0)) rows.push(["key event branch", "branch point"]);
    legend.replaceChildren(...rows.map(([name, text]) => {
      const row = document.createElement("span");
      row.append(keyOf(name), text);
      return row;
    }));
    placeLegend(run);
  }

  /** Puts the legend into the corner in which it covers the fewest points of the run. */
  function placeLegend(run) {
    if (!run) return;
    const { offsetWidth: width, offsetHeight: height } = legend, gap = 6, xs = xsOf(run.ts),
      ys = ysOf(run.loss);
    const right = size.width - MARGIN.right - width - gap, left = MARGIN.left + gap, top = MARGIN.top + 2,
      bottom = size.height - MARGIN.bottom - height - gap;
    const covered = ([x0, y0]) =>
      xs.filter((at, i) => at > x0 - gap && at < x0 + width + gap && ys[i] > y0 - gap && ys[i] < y0 + height
      + gap).length;
    const corners = [[right, top], [left, bottom], [right, bottom], [left, top]],
      counts = corners.map(covered);
    const [x0, y0] = corners[counts.indexOf(Math.min(...counts))];
    Object.assign(legend.style, { left: `${x0}px`, top: `${y0}px` });
  }

  function keyOf(name) {
    const shape = name.includes("collapses") ? "M6 2l6 6m0 -6l-6 6" : name.includes("branch")
      ? "M5 9l4 -8l4 8z" : name.includes("slides") ? "M9 1v8" : name.includes("dots") ? "M3 5h0M9 5h0M15 5h0"
      : "M1 5h16";
    return svg("svg", { width: 18, height: 10, "aria-hidden": "true" },
      svg("path", { class: name, d: shape }));
  }

  function drawCursor(values) {
    if (!values.run) return;
    const t = presentTime(values),
      at = Math.max(MARGIN.left, x(x.log ? Math.max(t, x.invert(MARGIN.left)) : t));
    const value = values.run.loss[nearest(values.run.ts, t)];
    const parts = [svg("line", { x1: at, x2: at, y1: MARGIN.top, y2: size.height - MARGIN.bottom })];
    if (value !== null && (!y.log || value > 0)) parts.push(svg("circle", { cx: at, cy: y(value), r: 5 }));
    cursor.replaceChildren(...parts);
    const note = document.getElementById("loss-note");
    note.textContent = `t = ${shown(t, 4)} · L = ${shown(value, 4)}`;
  }

  const timeAt = (event) => {
    const box = picture.getBoundingClientRect();
    return Math.max(0, x.invert(Math.max(MARGIN.left, event.clientX - box.left)));
  };
  let held = false;
  picture.addEventListener("pointerdown", (event) => {
    if (!x) return;
    held = true;
    picture.setPointerCapture(event.pointerId);
    store.set({ time: timeAt(event), playing: false, scrubbed: true });
  });
  picture.addEventListener("pointerup", () => { held = false; });
  picture.addEventListener("pointermove", (event) => {
    const { run, lines } = store.values;
    if (!x || !run) return;
    const t = timeAt(event);
    if (held) store.set({ time: t });
    const i = nearest(run.ts, t),
      predicted = lines.filter((line) => line.loss[i] !== null).map((line) =>
      `\n${line.title}: ${shown(line.loss[i], 4)}`);
    tip(`t = ${shown(run.ts[i], 4)}\nloss: ${shown(run.loss[i], 4)}${predicted.join("")}`, event);
  });
  picture.addEventListener("pointerleave", () => tip("", null));

  store.listen((values, changed) => {
    const mine = ["run", "growing", "lines", "twin", "plateaus", "earlier", "logTime", "logLoss", "exact",
      "horizon"];
    if (mine.some((name) => changed.has(name))) draw(values);
    else if (changed.has("time") && x) drawCursor(values);
  });
}
