// Dead letters: the groups by code and topic, and the records of one with their bytes and reasons.

import { confirmed, possibilities } from "./administration.js";
import { askForView, bytes, count, counted, element, make, time } from "./api.js";

let chosen = null;
let next = null;
let isOn = false;
let total = 0;

export async function showLetters() {
  next = null;
  ({ isOn } = await possibilities());
  element("letterlist").replaceChildren();
  await more();
}

async function more() {
  const query = new URLSearchParams();
  if (chosen) { query.set("code", chosen.code); query.set("topic", chosen.topic); }
  if (next) query.set("after", next);
  const answer = await askForView("console/api/dead-letters", query);
  ({ next, total } = answer);
  element("noletters").hidden = answer.groups.length > 0;
  element("groups").replaceChildren(...answer.groups.map(group));
  element("letterlist").append(...answer.letters.map(letter));
  const listed = element("letterlist").childElementCount;
  element("lettersummary").textContent = total ? `${count(listed)} of ${count(total)} shown` : "";
  element("letteractions").hidden = !isOn || total === 0;
  element("moreletters").hidden = next === null;
}

function finished(text) {
  showLetters();
  return text;
}

/** Has the worker try dead letters again. */
function retry(parameters, which, more = "") {
  confirmed({ name: "dead-letters/retry", parameters, question: `Retry ${which}?`,
    consequence: `The worker applies them with its present model and routes. Those that fail stay.${more}` },
  (result) => finished({ isFailure: result.failed > 0, text: `${counted(result.tried, "dead letter")} tried: ${result.applied} applied, ${result.stale} stale, ${result.filtered} filtered out, ${result.failed} stay.` }));
}

/** Has the worker remove dead letters. */
function drop(parameters, which, more = "") {
  confirmed({ name: "dead-letters/drop", parameters, question: `Drop ${which}?`,
    consequence: `They cannot be brought back.${more}` },
  (result) => finished(`${counted(result.count, "dead letter")} dropped.`));
}

const filter = () => (chosen ? { code: chosen.code, topic: chosen.topic } : {});
const filtered = () => {
  const letters = counted(total, "dead letter");
  return chosen ? `${letters} with the code ${chosen.code} from ${chosen.topic}` : `all ${letters}`;
};
const later = " Those that come before you confirm belong to them.";

const isChosen = (group) => chosen !== null && chosen.code === group.code && chosen.topic === group.topic;

function group(each) {
  const button = make("button", { type: "button", "aria-pressed": isChosen(each) },
    `${count(each.count)} × ${each.code} from ${each.topic}`);
  button.title = `First ${each.firstTime}, last ${each.lastTime}`;
  button.addEventListener("click", () => { chosen = isChosen(each) ? null : each; showLetters(); });
  return make("li", {}, button);
}

const decoded = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** The bytes as text where they are UTF-8, else in base64. A cut may go through a character. */
function text({ value, isCut }) {
  try { return new TextDecoder("utf-8", { fatal: true }).decode(decoded(value), { stream: isCut }); } catch { return value; }
}

function letter(each) {
  const place = `${each.topic}, ${each.line === null ? `partition ${each.partition}, offset ${each.offset}` : `line ${each.line}`}`;
  const item = make("li", {},
    make("strong", {}, `${each.code} (${each.stage})`),
    make("p", {}, each.reason),
    make("p", { class: "soft" }, `${place} · ${bytes(each.valueBytes)} · ${counted(each.attempts, "attempt")} · number ${each.id} · `, time(each.time)));
  if (each.value !== null) item.append(make("pre", { tabindex: "0", "aria-label": `The bytes of dead letter ${each.id}` }, text(each)));
  if (each.isCut) item.append(make("p", { class: "soft" }, `These are the first ${bytes(decoded(each.value).length)} of ${bytes(each.valueBytes)}.`));
  if (isOn) item.append(make("div", { class: "actions" }, action("Retry", retry, each), action("Drop", drop, each)));
  return item;
}

function action(name, body, each) {
  const button = make("button", { type: "button", "aria-label": `${name} dead letter ${each.id}` }, name);
  button.addEventListener("click", () => body({ ids: [each.id] }, `dead letter ${each.id}`));
  return button;
}

element("retryletters").addEventListener("click", () => retry(filter(), filtered(), later));
element("dropletters").addEventListener("click", () => drop(filter(), filtered(), later));

element("moreletters").addEventListener("click", more);
