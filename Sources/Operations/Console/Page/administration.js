// Requests that change the store: each is confirmed, and sent with a key so that it is carried out once.

import { administer, askForView, askJSON, bytes, count, counted, duration, element, make, OperatorTokenNeeded, parse, sentence, time, useOperatorToken } from "./api.js";

// The request whose dialog is open, or was last.
let asked = null;
let next = null;

const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The verbs of requests; those that cannot be undone have another colour. */
const verbs = {
  "dead-letters/retry": "Retry", "dead-letters/drop": "Drop", "history/purge": "Purge", backup: "Take the backup",
  verify: "Verify",
};
const graveRequests = new Set(["dead-letters/drop", "history/purge"]);

/** Whether the worker takes requests, and whether it has a folder for backups. */
export const possibilities = () => askJSON("console/api/administration");

/** Asks a person, then the worker; calls `done` with the result, which gives a text, or a text and `isFailure`. */
export function confirmed(request, done) {
  asked = { ...request, done, key: newKey(), sentAt: null };
  element("question").textContent = request.question;
  element("consequence").textContent = request.consequence;
  element("refusal").hidden = true;
  element("operator").hidden = true;
  closeOutcome();
  element("confirm").textContent = verbs[request.name];
  element("confirm").classList.toggle("grave", graveRequests.has(request.name));
  showWork();
  element("confirmation").showModal();
}

export function closeOutcome() {
  element("outcome").hidden = true;
}

/** Shows the result of a request; one that did not do everything has another colour. */
function showOutcome({ text, isFailure = false }) {
  element("outcome").hidden = false;
  element("outcome").classList.toggle("failed", isFailure);
  element("outcometext").textContent = text;
}

/** Says in the dialog that the worker is at work, for how long, and that closing the dialog does not end it. */
function showWork() {
  const { sentAt } = asked;
  const isSent = sentAt !== null;
  element("confirm").disabled = isSent;
  element("cancel").textContent = isSent ? "Close" : "Cancel";
  element("working").hidden = !isSent;
  if (isSent) element("working").textContent = `The worker is at work: ${duration(Math.round((Date.now() - sentAt) / 1000))}. It goes on if you close this.`;
}

async function send() {
  // The dialog may have gone to another request when the answer comes.
  const request = asked;
  const isShown = () => asked === request && element("confirmation").open;
  if (request.sentAt !== null) return;
  const typed = element("operatortoken").value;
  if (typed) useOperatorToken(typed);
  element("operatortoken").value = "";
  element("refusal").hidden = true;
  request.sentAt = Date.now();
  showWork();
  const timer = setInterval(() => { if (isShown()) showWork(); }, 1000);
  try {
    const answer = await administer(request.name, request.parameters, request.key);
    if (isShown()) element("confirmation").close();
    const done = request.done(answer.result);
    showOutcome(typeof done === "string" ? { text: done } : done);
  } catch (error) {
    if (isShown()) showRefusal(error); else showOutcome({ text: `${request.question} ${error.message}`, isFailure: true });
  } finally {
    clearInterval(timer);
    request.sentAt = null;
    if (isShown()) showWork();
  }
}

function showRefusal(error) {
  element("refusal").hidden = false;
  element("refusal").textContent = error.message;
  if (error instanceof OperatorTokenNeeded) element("operator").hidden = false;
  if (!element("operator").hidden) element("operatortoken").focus();
}

// The view

export async function showAdministration() {
  const { isOn, hasBackups } = await possibilities();
  element("off").hidden = isOn;
  element("requests").hidden = !isOn;
  element("backup").hidden = element("hasfolder").hidden = !hasBackups;
  element("nofolder").hidden = hasBackups;
  next = null;
  element("auditlist").replaceChildren();
  await more();
}

const isEmpty = (value) => value === null || (typeof value === "object" && Object.keys(value).length === 0);

/** A name of JSON as words: `lastTransaction` is `last transaction`. */
const spaced = (name) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** The members whose names are those of cursors, and so of topics: they stay as they are. */
const NAMED = ["holding", "passed"];

/** JSON as words: each name with its value, nested values in parentheses, without empty ones. */
export function words(value, name = "") {
  if (Array.isArray(value)) return value.map((each) => words(each)).join("; ");
  if (typeof value === "object") {
    return Object.entries(value).filter(([, part]) => !isEmpty(part))
      .map(([key, part]) => {
        const text = words(part, key);
        return `${NAMED.includes(name) ? key : spaced(key)} ${typeof part === "object" ? `(${text})` : text}`;
      }).join(", ");
  }
  if (name === "beforeTime") return new Date(value / 1000).toISOString().replace("T", " ").replace(/\.\d+/, "");
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? count(value) : value;
}

/** An outcome such as `done: {"count":3}` as words. */
function readable(text) {
  const start = text.indexOf("{");
  if (start < 0) return text;
  try {
    return text.slice(0, start) + words(parse(text.slice(start)));
  } catch {
    return text;
  }
}

/** The arguments of a request, if it has any. */
function detail(json) {
  const text = words(parse(json));
  return text ? [`${text} · `] : [];
}

async function more() {
  const answer = await askForView("console/api/audit", new URLSearchParams(next ? { before: next } : {}));
  next = answer.next;
  element("auditlist").append(...answer.entries.map((each) => make("li", {},
    make("strong", {}, each.request), make("p", {}, sentence(readable(each.outcome))),
    make("p", { class: "soft" }, `${each.actor} · `, ...detail(each.arguments), `number ${each.id} · `, time(each.time)))));
  element("noaudit").hidden = element("auditlist").childElementCount > 0;
  element("moreaudit").hidden = next === null;
}

function finished(text) {
  showAdministration();
  return text;
}

function backUp() {
  confirmed({ name: "backup", parameters: {}, question: "Take a backup of the store?",
    consequence: "The worker goes on meanwhile. The backup is verified, and goes into the folder of the configuration." },
  (result) => finished(`The backup is at ${result.path}: ${bytes(result.bytes)}, up to transaction ${count(result.lastTransaction)}.`));
}

function verify() {
  confirmed({ name: "verify", parameters: {}, question: "Verify the whole store?",
    consequence: "The worker goes on meanwhile. It takes as long as reading everything." },
  (result) => finished(result.isSound ? "The store is sound."
    : { text: `The store has ${counted(result.problemCount, "problem")}. Run 'ingest-worker verify' for the list.`, isFailure: true }));
}

function purge(event) {
  event.preventDefault();
  const days = Number(element("days").value);
  const beforeTime = (Date.now() - days * 86400000) * 1000;
  confirmed({ name: "history/purge", parameters: { beforeTime, passesCursors: false },
    question: `Purge the history older than ${counted(days, "day")}?`,
    consequence: "It cannot be brought back. Transactions that a reader with a cursor has not read stay." },
  (result) => finished(`${counted(result.transactions, "transaction")} purged.`));
}

element("confirm").addEventListener("click", send);
element("operatortoken").addEventListener("keydown", (event) => { if (event.key === "Enter") send(); });
element("dismiss").addEventListener("click", closeOutcome);
element("cancel").addEventListener("click", () => element("confirmation").close());
element("backup").addEventListener("click", backUp);
element("verify").addEventListener("click", verify);
element("purge").addEventListener("submit", purge);
element("moreaudit").addEventListener("click", more);
