// The controls, made from the settings that Python describes: a slider and a number, a choice, or a switch.

import { html } from "./drawing.js";

/** Places of a slider. */
const PLACES = 400;

/**
 * @param {HTMLFormElement} form
 * @param {object[]} fields
 * @param {(name: string, value: any, rest: boolean) => void} change
 */
export function controls(form, fields, change) {
  const show = {};
  form.addEventListener("submit", (event) => event.preventDefault());
  form.replaceChildren(...fields.map((field) => {
    const [element, write] = { number: numeric, whole: numeric, choice, flag }[field.kind](field, change);
    show[field.name] = write;
    return element;
  }));
  return (state) => {
    for (const field of fields) show[field.name](state[field.name]);
    const row = (name) => form.querySelector(`[data-field="${name}"]`);
    row("delta").hidden = state.preset !== "six_points";
    row("step").hidden = state.method !== "descent";
  };
}

function numeric(field, change) {
  const { name, label, about, low, high, log, kind } = field, id = `field-${name}`;
  const top = name === "width" ? 200 : name === "seed" ? 50 : high, bottom = low;
  const to = (value) => (log ? Math.log(value / bottom) / Math.log(top / bottom)
    : (value - bottom) / (top - bottom));
  const from = (share) => (log ? bottom * (top / bottom) ** share : bottom + (top - bottom) * share);
  const read = () => {
    const value = from(Number(slider.value) / PLACES);
    return kind === "whole" ? Math.round(value) : Number(value.toPrecision(3));
  };
  const slider = html("input",
    { type: "range", min: 0, max: PLACES, "aria-label": `${label}: ${about}`, tabindex: 0 });
  const number = html("input",
    { type: "number", id, step: "any", min: low, max: high, "aria-label": `${label}, number` });
  slider.addEventListener("input", () => { number.value = String(read()); change(name, read(), false); });
  slider.addEventListener("change", () => change(name, read(), true));
  number.addEventListener("change", () => number.value !== "" && change(name, Number(number.value), true));
  const row = html("div", { class: "field", "data-field": name, title: about },
    html("label", { for: id }, label), slider, number);
  const write = (value) => {
    if (document.activeElement !== slider) slider.value =
      String(Math.round(PLACES * Math.min(1, Math.max(0, to(value)))));
    const rounded = Number(value.toPrecision(6));
    if (document.activeElement !== number) number.value = rounded && rounded < 1e-3 ? rounded.toExponential()
      : String(rounded);
  };
  return [row, write];
}

function choice({ name, label, about, choices }, change) {
  const id = `field-${name}`;
  const select = html("select", { id, onchange: () => change(name, select.value, true) },
    ...choices.map(([value, text]) => html("option", { value }, text)));
  const row = html("div", { class: "field choice-field", "data-field": name, title: about },
    html("label", { for: id }, label), select);
  return [row, (value) => { select.value = value; }];
}

function flag({ name, label, about }, change) {
  const box = html("input", { type: "checkbox", id: `field-${name}`,
    onchange: () => change(name, box.checked, true) });
  const row = html("div", { class: "field flag-field", "data-field": name, title: about }, box,
    html("label", { for: `field-${name}` }, label));
  return [row, (value) => { box.checked = value; }];
}
