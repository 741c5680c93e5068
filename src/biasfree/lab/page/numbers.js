// Numbers of a run: arrays unpacked from base64, places of times, and how numbers are written.

/**
 * @typedef {Object} Run  A run as the page draws it; arrays have the time as their first axis.
 * @property {Float64Array} ts
 * @property {(number|null)[]} loss
 * @property {number} width   neurons of the first layer
 * @property {number} depth
 * @property {number} angles  directions in which f is known
 * @property {Float32Array} w  (T, width, 2)
 * @property {Float32Array} a  (T, width)
 * @property {Float32Array} f  (T, angles), on the unit circle
 * @property {Uint8Array} sliding  (T, width): 1 + the sample whose hyperplane a neuron is on
 * @property {[number, string, number, number][]} events  time, kind, layer, neuron
 * @property {number[]} branches
 * @property {[number, number, number][]} samples
 * @property {number} largest  the largest |w| of the run
 */

/** @param {string} text @returns {Uint8Array} */
export function bytesOf(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  // ten times as fast as Uint8Array.from
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** @returns {Run} */
export function unpack(replay) {
  const floats = (text) => new Float32Array(bytesOf(text).buffer);
  const w = floats(replay.w);
  let largest = 0;
  for (let i = 0; i < w.length; i += 2) largest = Math.max(largest, Math.hypot(w[i], w[i + 1]));
  return {
    ...replay,
    ts: Float64Array.from(replay.ts),
    w,
    a: floats(replay.a),
    f: floats(replay.f),
    sliding: bytesOf(replay.sliding),
    largest,
  };
}

/** The place of the last time at or before t, at least 0. */
export function placeOf(ts, t) {
  let low = 0, high = ts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ts[middle] <= t) low = middle; else high = middle - 1;
  }
  return low;
}

/** The place of the time nearest to t. */
export function nearest(ts, t) {
  const i = placeOf(ts, t);
  return i + 1 < ts.length && ts[i + 1] - t < t - ts[i] ? i + 1 : i;
}

/** A number in at most `digits` significant digits, with a true minus sign. */
export function shown(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e5)
    ? value.toExponential(Math.max(0, digits - 2)).replace(/\.?0+e/, "e").replace("e+", "e")
    : String(Number(value.toPrecision(digits)));
  return text.replaceAll("-", "−");
}

/** f, its odd or its even part, on the unit circle at one place. */
export function circleValues(run, place, part) {
  const n = run.angles, half = n / 2, begin = place * n, values = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    const here = run.f[begin + i], there = run.f[begin + ((i + half) % n)];
    values[i] = part === "whole" ? here : part === "odd" ? (here - there) / 2 : (here + there) / 2;
  }
  return values;
}

/** The place among the measured moments nearest to a place of the run; −1 without measures. */
export function momentOf(measures, place) {
  if (!measures) return -1;
  return nearest(measures.places, place);
}
