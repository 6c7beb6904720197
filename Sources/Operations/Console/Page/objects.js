// Objects: search, pages, one object with its links and its history; and the model's diagram.

import { ask, askForView, askJSON, count, duration, element, exactTime, leaveView, make, time } from "./api.js";

let model = null;
let page = { query: null, next: null };

async function load() {
  if (model) return model;
  model = await askJSON("console/api/model");
  element("entity").replaceChildren(...model.entities.map((entity) => make("option", {}, entity.name)));
  return model;
}

const entityNamed = (name) => model.entities.find((entity) => entity.name === name);

/** All entities from the root of the hierarchy down to this one. */
function lineage(entity) {
  const parent = entity.parent ? entityNamed(entity.parent) : null;
  return parent ? [...lineage(parent), entity] : [entity];
}

export const address = (entity, id) => `#object?${new URLSearchParams({ entity, id })}`;

const search = (entity, where) => `#objects?${new URLSearchParams({ entity, where })}`;

/** A text of the predicate language. */
const quoted = (text) => `'${String(text).replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

function shown(value) {
  if (value === null || value === undefined) return make("span", { class: "soft" }, "–");
  if (typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value)) return exactTime(value);
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

export async function showObjects(parameters) {
  await load();
  if (parameters.has("entity")) element("entity").value = parameters.get("entity");
  element("where").value = parameters.get("where") ?? "";
  element("sort").value = parameters.get("sort") ?? "";
  page = { query: new URLSearchParams({
    entity: element("entity").value, where: element("where").value, sort: element("sort").value,
  }), next: null };
  element("rows").replaceChildren();
  element("columns").replaceChildren();
  await more();
}

/** Says that a search is under way, and after a second why it may take long. Returns the end of it. */
function showSearching() {
  const start = Date.now();
  const say = (text) => { element("searching").textContent = text; };
  say("Searching …");
  element("searching").hidden = false;
  const timer = setInterval(() => say(`Searching for ${duration(Math.round((Date.now() - start) / 1000))}. Without an index for the condition or the order, the worker reads the whole entity.`), 1000);
  return () => { clearInterval(timer); };
}

async function more() {
  const asked = page;
  const query = new URLSearchParams(asked.query);
  if (asked.next) query.set("after", asked.next);
  for (const name of ["searchproblem", "noobjects", "moreobjects"]) element(name).hidden = true;
  const end = showSearching();
  let found = { objects: [], next: null };
  let problem = "";
  try {
    found = await askForView("console/api/objects", query);
  } catch (error) {
    problem = error.name === "AbortError" ? "" : error.message;
  }
  end();
  // Another search has begun meanwhile.
  if (asked !== page) return;
  asked.next = found.next;
  found.objects.forEach(row);
  element("searching").hidden = true;
  element("searchproblem").hidden = !problem;
  element("searchproblem").textContent = problem;
  element("found").hidden = element("rows").childElementCount === 0;
  element("moreobjects").hidden = !found.next;
  element("noobjects").hidden = !element("found").hidden || problem !== "";
}

function row(object) {
  const names = Object.keys(object);
  if (!element("columns").childElementCount) {
    element("columns").append(make("tr", {}, ...names.map((name) => make("th", { scope: "col", class: typeof object[name] === "number" ? "number" : null }, name))));
  }
  const entity = entityNamed(page.query.get("entity"));
  element("rows").append(make("tr", {}, ...names.map((name) => {
    const value = object[name];
    const kind = { "data-label": name, class: typeof value === "number" ? "number" : null };
    if (name === entity.identity) return make("td", { ...kind, class: "identity" }, make("a", { href: address(entity.name, value) }, String(value)));
    return make("td", kind, valueOf(entity, name, value));
  })));
}

const relationships = (entity) => lineage(entity).flatMap((part) => part.relationships);

/** A value; that of a to-one relationship leads to the object. */
function valueOf(entity, name, value) {
  const relationship = relationships(entity).find((each) => each.name === name && !each.many);
  if (!relationship || value === null || value === undefined) return shown(value);
  return make("a", { href: address(relationship.to, value) }, String(value));
}

export async function showObject(parameters) {
  await load();
  const [name, id] = [parameters.get("entity"), parameters.get("id")];
  const answer = await askForView("console/api/object", parameters);
  const entity = entityNamed(name);
  element("objecttitle").textContent = `${name} ${id}`;
  element("back").href = `#objects?${new URLSearchParams({ entity: name })}`;
  element("properties").replaceChildren(...Object.entries(answer.object ?? {}).flatMap(([key, value]) =>
    [make("dt", {}, key), make("dd", {}, valueOf(entity, key, value))]));
  if (!answer.object) element("properties").append(make("dt", {}, "Deleted"), make("dd", {}, "The store has no such object."));
  element("links").replaceChildren(...relationships(entity).map((relationship) => link(relationship, id)).filter((item) => item));
  element("linkstitle").hidden = element("links").childElementCount === 0;
  element("cuthistory").hidden = !answer.isCut;
  element("timeline").replaceChildren(...answer.timeline.map((change) => make("li", {},
    make("strong", {}, change.change), time(change.time), make("span", {}, change.properties.join(", ")),
    make("span", { class: "soft" }, `transaction ${count(change.token)} by ${change.author}${change.source ? ` from ${change.source}` : ""}`))));
  element("nohistory").hidden = answer.timeline.length > 0;
}

/** The destinations of a relationship are those that lead back by the inverse. */
function link(relationship, id) {
  if (!relationship.inverse) return null;
  const destination = entityNamed(relationship.to);
  const inverse = relationships(destination).find((each) => each.name === relationship.inverse);
  const own = lineage(entityNamed(new URLSearchParams(location.hash.split("?")[1]).get("entity"))).find((part) => part.identity);
  const path = `${inverse?.many ? "ANY " : ""}${relationship.inverse}.${own.identity} == ${quoted(id)}`;
  return make("li", {}, make("a", { href: search(relationship.to, path) }, relationship.name),
    make("span", { class: "soft" }, ` ${relationship.many ? "many" : "one"} ${relationship.to}`));
}

export async function showModel() {
  if (element("diagram").childElementCount) return;
  const text = await (await ask("console/api/model.svg")).text();
  const drawing = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  element("diagram").replaceChildren(document.importNode(drawing, true));
  for (const entity of element("diagram").querySelectorAll(".entity")) {
    entity.addEventListener("click", () => { location.hash = search(entity.dataset.entity, ""); });
  }
}

element("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = new URLSearchParams({ entity: element("entity").value });
  if (element("where").value) query.set("where", element("where").value);
  if (element("sort").value) query.set("sort", element("sort").value);
  const hash = `#objects?${query}`;
  leaveView();
  if (location.hash === hash) showObjects(query); else location.hash = hash;
});
element("moreobjects").addEventListener("click", more);
