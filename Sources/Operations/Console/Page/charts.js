// Small charts of the last ten minutes, drawn as SVG.

import { bytes, count, duration, element, make, rate } from "./api.js";

const kinds = [
  { title: "Throughput", unit: (value) => `${rate(value)} records/s`, of: (point) => point[1] },
  { title: "Behind", unit: (value) => `${count(value)} records`, of: (point) => point[5] },
  { title: "Behind in time", unit: duration, of: (point) => point[9] },
  { title: "Time to commit", unit: duration, of: (point) => point[3], without: "no commit" },
  { title: "Operations a chunk", unit: rate, of: (point) => point[4], without: "no chunk" },
  { title: "Memory", unit: bytes, of: (point) => point[6] },
  { title: "Store", unit: bytes, of: (point) => point[7] },
  { title: "Log beside the store", unit: bytes, of: (point) => point[8] },
];
const windowMilliseconds = 600_000;
const leastMilliseconds = 60_000;
const [width, height] = [300, 70];
const namespace = "http://www.w3.org/2000/svg";

let points = [];
let figures = [];

/** The time after which the next samples are wanted, in milliseconds. */
export const newest = () => (points.length ? points[points.length - 1][0] : 0);

export function take(samples) {
  points = points.concat(samples.points).filter((point) => point[0] > newestOf(samples) - windowMilliseconds);
  if (!figures.length) figures = kinds.map(figure);
  kinds.forEach((kind, index) => draw(kind, figures[index]));
}

const newestOf = (samples) => (samples.points.length ? samples.points[samples.points.length - 1][0] : newest());

function shape(name, kind) {
  const made = document.createElementNS(namespace, name);
  made.setAttribute("class", kind);
  return made;
}

function figure(kind) {
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  const [area, line] = [shape("path", "area"), shape("path", "line")];
  svg.append(area, line);
  const [value, extent] = [make("strong"), make("p", { class: "soft" }, "Nothing to show yet.")];
  element("charts").append(make("figure", {}, make("figcaption", {}, make("span", {}, kind.title), value), svg, extent));
  return { svg, area, line, value, extent };
}

function draw(kind, { svg, area, line, value, extent }) {
  const known = points.map((point) => [point[0], kind.of(point)]).filter((pair) => pair[1] !== null);
  // The newest sample says how it is now: an older figure may be wrong by now.
  const last = points.length ? kind.of(points[points.length - 1]) : null;
  const now = last === null ? kind.without ?? "not known" : kind.unit(last);
  value.textContent = now;
  const highest = Math.max(...known.map((pair) => pair[1]), 0);
  svg.setAttribute("aria-label", known.length
    ? `${kind.title} of the last minutes: now ${now}, at most ${kind.unit(highest)}`
    : `${kind.title}: ${now}`);
  if (known.length < 2) return;
  const end = known[known.length - 1][0];
  const span = Math.max(end - known[0][0], leastMilliseconds);
  const place = ([at, of]) => [
    (width * (1 - (end - at) / span)).toFixed(1), (height - 3 - (height - 8) * (of / (highest || 1))).toFixed(1),
  ];
  extent.textContent = `peak ${kind.unit(highest)} · ${duration((end - known[0][0]) / 1000)}`;
  const path = known.map((pair, index) => `${index ? "L" : "M"}${place(pair).join(" ")}`).join("");
  line.setAttribute("d", path);
  area.setAttribute("d", `${path}L${width} ${height}L${place(known[0])[0]} ${height}Z`);
}
