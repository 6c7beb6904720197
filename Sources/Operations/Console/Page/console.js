// The page: its views, the verdict, and the turns in which it asks the worker.

import { ask, askJSON, bytes, count, counted, duration, element, follow, leaveView, make, parse, refreshTimes, sentence, time, useToken } from "./api.js";
import { closeOutcome, showAdministration } from "./administration.js";
import * as charts from "./charts.js";
import { showLetters } from "./letters.js";
import { address, showModel, showObject, showObjects } from "./objects.js";

const turnMilliseconds = 2000;
const views = {
  overview: () => {}, changes: () => {}, letters: showLetters, objects: showObjects, object: showObject, model: showModel,
  administration: showAdministration,
};
const countsShown = {
  "Records": "counts.records", "Stale events": "counts.stale", "Placeholders made": "counts.placeholders",
  "Chunks": "counts.chunks", "Commits": "counts.commits", "Notifications": "counts.notifications",
  "Last transaction": "history.token", "Last notified": "history.notified",
};
const maximumTransactions = 100;
const changesShown = 6;
let isFollowing = false;
let isMigrating = false;
let answeredAt = null;

const at = (object, path) => path.split(".").reduce((value, key) => value?.[key], object);

/** The store with the log beside it, which grows while readers hold old snapshots. */
const size = (store) => (store.walBytes ? `${bytes(store.bytes)} and ${bytes(store.walBytes)} of log` : bytes(store.bytes));

function cell(label, kind, ...children) {
  return make("td", { "data-label": label, ...kind }, ...children);
}

/** The records that the store lacks, and the age of the oldest at most. */
function behind(position) {
  if (position.lag === null) return "not known";
  const records = counted(position.lag, "record");
  return position.lag && position.lagSeconds !== null ? `${records}, ${duration(position.lagSeconds)}` : records;
}

function place(position) {
  return make("tr", {},
    cell("Topic", {}, position.topic), cell("Partition", { class: "number" }, String(position.partition)),
    cell("Next offset", { class: "number" }, count(position.nextOffset)),
    cell("Behind", { class: "number" }, behind(position)),
    cell("State", { class: "state", "data-state": position.state }, position.state),
    cell("Reason", {}, position.reason ?? ""));
}

function showVerdict(state, sentence) {
  element("verdict").dataset.state = state;
  if (element("sentence").textContent !== sentence) element("sentence").textContent = sentence;
  document.title = `${state} · ingest-worker`;
}

/** The work that the worker has to end first, and how far it is; a bar without a value says that nobody knows. */
function showWork(work) {
  const bar = element("work");
  bar.hidden = !work;
  if (work?.share != null) bar.value = work.share; else bar.removeAttribute("value");
  const wasMigrating = isMigrating;
  isMigrating = ["migration", "verification"].includes(work?.kind);
  document.body.classList.toggle("migrating", isMigrating);
  element("migrating").hidden = !isMigrating;
  // What the view asked for in vain is there again.
  if (wasMigrating && !isMigrating) show();
}

function showStatus(status) {
  showVerdict(status.verdict.state, status.verdict.sentence);
  showWork(status.work);
  element("about").replaceChildren(
    `${status.version} · model ${status.store.model} · ${status.store.path} · ${size(status.store)} · started `,
    time(status.startedAt));
  // The console of a store without a worker says so in the verdict alone.
  const things = status.verdict.attention.filter((thing) => thing.check !== "worker");
  document.body.classList.toggle("alone", things.length < status.verdict.attention.length);
  element("attention").hidden = things.length === 0;
  element("things").replaceChildren(...things.map((thing) => make("li", { "data-check": thing.check },
    make("strong", {}, sentence(thing.title).slice(0, -1)), make("p", {}, sentence(thing.reason)),
    make("p", { class: "soft" }, thing.remedy),
    thing.check === "deadLettersKept" ? make("a", { href: "#letters" }, "Show the dead letters") : null)));
  element("lettercount").hidden = status.deadLetters === 0;
  element("lettercount").textContent = count(status.deadLetters);
  element("positions").replaceChildren(...status.positions.map(place));
  element("nopositions").hidden = status.positions.length > 0;
  element("counts").replaceChildren(...Object.entries(countsShown).map(([name, path]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, count(at(status, path))))));
}

// Changes: the reader who scrolls down is not disturbed.

function showChange(event) {
  const list = element("stream");
  if (element("pause").checked || list.scrollTop > 4) return;
  element("nochanges").hidden = true;
  const { token, source, changes } = event.data;
  const more = changes.length - changesShown;
  list.prepend(make("li", {},
    make("p", {}, make("strong", {}, `Transaction ${count(token)}`), ` ${counted(changes.length, "change")} `,
      time(event.time), make("span", { class: "soft" }, source ? ` from ${source}` : "")),
    make("ul", {}, ...changes.slice(0, changesShown).map((change) => make("li", {},
      `${change.change} ${change.entity} `, make("a", { href: address(change.entity, change.id) }, String(change.id)),
      make("span", { class: "soft" }, ` ${(change.properties ?? []).join(", ")}`))),
    more > 0 ? make("li", { class: "soft" }, `and ${count(more)} more`) : null)));
  while (list.childElementCount > maximumTransactions) list.lastElementChild.remove();
}

function keepFollowing() {
  if (isFollowing) return;
  isFollowing = true;
  follow(showChange).catch(() => {}).finally(() => setTimeout(() => { isFollowing = false; }, turnMilliseconds));
}

async function turn() {
  try {
    const answer = await ask("status");
    if (!answer.ok) throw new Error("The worker cannot say how it is.");
    showStatus(parse(await answer.text()));
    if (!isMigrating) {
      charts.take(await askJSON("console/api/samples", new URLSearchParams({ after: charts.newest() })));
      keepFollowing();
    }
    answeredAt = new Date().toISOString();
    document.body.classList.remove("away");
  } catch (error) {
    showVerdict("stopped", error.message);
    document.body.classList.add("away");
    if (answeredAt) element("about").replaceChildren("The page shows the state of ", time(answeredAt), ".");
  }
  refreshTimes();
  setTimeout(turn, turnMilliseconds);
}

// Views

async function show() {
  const [name, query] = location.hash.slice(1).split("?");
  const view = name in views ? name : "overview";
  for (const each of Object.keys(views)) element(each).hidden = each !== view;
  for (const link of document.querySelectorAll("nav a")) {
    const isCurrent = link.hash === `#${view === "object" ? "objects" : view}`;
    if (isCurrent) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  element("viewproblem").hidden = true;
  leaveView();
  try {
    await views[view](new URLSearchParams(query ?? ""));
  } catch (error) {
    // The reader has gone on to another view.
    if (error.name === "AbortError") return;
    element("viewproblem").hidden = false;
    element("viewproblem").textContent = error.message;
  }
}

element("access").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(element("token").value);
  show();
});
// A question that ended with its view, as after a click on More.
addEventListener("unhandledrejection", (event) => { if (event.reason?.name === "AbortError") event.preventDefault(); });
addEventListener("hashchange", () => { closeOutcome(); show(); });
show();
turn();
