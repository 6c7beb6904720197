// Requests that change the store: each is confirmed, and sent with a key so that it is carried out once.

import { administer, askJSON, bytes, count, counted, element, make, OperatorTokenNeeded, time, useOperatorToken } from "./api.js";

let pending = null;
let next = null;

const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Whether the worker takes requests, and whether it has a folder for backups. */
export const possibilities = () => askJSON("console/api/administration");

/** Asks a person, then the worker; calls `done` with the result. */
export function confirmed(request, done) {
  pending = { ...request, done, key: newKey() };
  element("question").textContent = request.question;
  element("consequence").textContent = request.consequence;
  element("refusal").hidden = true;
  element("operator").hidden = true;
  element("outcome").hidden = true;
  element("confirmation").showModal();
}

async function send() {
  const typed = element("operatortoken").value;
  if (typed) useOperatorToken(typed);
  element("operatortoken").value = "";
  element("confirm").disabled = true;
  try {
    const answer = await administer(pending.name, pending.parameters, pending.key);
    element("confirmation").close();
    element("outcome").hidden = false;
    element("outcome").textContent = pending.done(answer.result);
  } catch (error) {
    if (error instanceof OperatorTokenNeeded) element("operator").hidden = false;
    element("refusal").hidden = false;
    element("refusal").textContent = error.message;
    if (!element("operator").hidden) element("operatortoken").focus();
  } finally {
    element("confirm").disabled = false;
  }
}

// The view

export async function showAdministration() {
  const { isOn, hasBackups } = await possibilities();
  element("off").hidden = isOn;
  element("requests").hidden = !isOn;
  element("backup").hidden = !hasBackups;
  next = null;
  element("auditlist").replaceChildren();
  await more();
}

async function more() {
  const answer = await askJSON("console/api/audit", new URLSearchParams(next ? { before: next } : {}));
  next = answer.next;
  element("auditlist").append(...answer.entries.map((each) => make("li", {},
    make("strong", {}, each.request), make("p", {}, each.outcome),
    make("p", { class: "soft" }, `${each.actor} · ${each.arguments} · number ${each.id} · `, time(each.time)))));
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
  (result) => finished(result.isSound ? "The store is sound." : `The store has ${counted(result.problemCount, "problem")}. Run 'ingest-worker verify' for the list.`));
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
element("cancel").addEventListener("click", () => element("confirmation").close());
element("backup").addEventListener("click", backUp);
element("verify").addEventListener("click", verify);
element("purge").addEventListener("submit", purge);
element("moreaudit").addEventListener("click", more);
