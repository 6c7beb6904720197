// Objects: search, pages, one object with its links and its history; and the model's diagram.

import { ask, askJSON, count, element, exactTime, make, time } from "./api.js";

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

async function more() {
  const query = new URLSearchParams(page.query);
  if (page.next) query.set("after", page.next);
  element("searchproblem").hidden = true;
  try {
    const found = await askJSON("console/api/objects", query);
    page.next = found.next;
    found.objects.forEach(row);
  } catch (error) {
    element("searchproblem").hidden = false;
    element("searchproblem").textContent = error.message;
    page.next = null;
  }
  element("moreobjects").hidden = !page.next;
  element("noobjects").hidden = element("rows").childElementCount > 0 || !element("searchproblem").hidden;
}

function row(object) {
  const names = Object.keys(object);
  if (!element("columns").childElementCount) {
    element("columns").append(make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name))));
  }
  const entity = entityNamed(page.query.get("entity"));
  element("rows").append(make("tr", {}, ...names.map((name) => {
    const value = object[name];
    if (name === entity.identity) return make("td", {}, make("a", { href: address(entity.name, value) }, String(value)));
    return make("td", typeof value === "number" ? { class: "number" } : {}, shown(value));
  })));
}

export async function showObject(parameters) {
  await load();
  const [name, id] = [parameters.get("entity"), parameters.get("id")];
  const answer = await askJSON("console/api/object", parameters);
  const entity = entityNamed(name);
  element("objecttitle").textContent = `${name} ${id}`;
  element("back").href = `#objects?${new URLSearchParams({ entity: name })}`;
  element("properties").replaceChildren(...Object.entries(answer.object ?? {}).flatMap(([key, value]) =>
    [make("dt", {}, key), make("dd", {}, shown(value))]));
  if (!answer.object) element("properties").append(make("dt", {}, "Deleted"), make("dd", {}, "The store has no such object."));
  element("links").replaceChildren(...lineage(entity).flatMap((part) => part.relationships).map((relationship) =>
    link(relationship, id)).filter((item) => item));
  element("timeline").replaceChildren(...answer.timeline.map((change) => make("li", {},
    make("strong", {}, change.change), time(change.time), make("span", {}, change.properties.join(", ")),
    make("span", { class: "soft" }, `transaction ${count(change.token)} by ${change.author}${change.source ? ` from ${change.source}` : ""}`))));
  element("nohistory").hidden = answer.timeline.length > 0;
}

/** The destinations of a relationship are those that lead back by the inverse. */
function link(relationship, id) {
  if (!relationship.inverse) return null;
  const destination = entityNamed(relationship.to);
  const inverse = lineage(destination).flatMap((part) => part.relationships).find((each) => each.name === relationship.inverse);
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
  if (location.hash === hash) showObjects(query); else location.hash = hash;
});
element("moreobjects").addEventListener("click", more);
