// Dead letters: the groups by code, and the records of one with their bytes and reasons.

import { askJSON, bytes, count, counted, element, make, time } from "./api.js";

let chosen = null;
let next = null;

export async function showLetters() {
  next = null;
  element("letterlist").replaceChildren();
  await more();
}

async function more() {
  const query = new URLSearchParams();
  if (chosen) { query.set("code", chosen.code); query.set("topic", chosen.topic); }
  if (next) query.set("after", next);
  const answer = await askJSON("console/api/dead-letters", query);
  next = answer.next;
  element("noletters").hidden = answer.groups.length > 0;
  element("groups").replaceChildren(...answer.groups.map(group));
  element("letterlist").append(...answer.letters.map(letter));
  const listed = element("letterlist").childElementCount;
  element("lettersummary").textContent = answer.total ? `${count(listed)} of ${count(answer.total)} shown` : "";
  element("moreletters").hidden = next === null;
}

const isChosen = (group) => chosen !== null && chosen.code === group.code && chosen.topic === group.topic;

function group(each) {
  const button = make("button", { type: "button", "aria-pressed": isChosen(each) },
    `${count(each.count)} × ${each.code}${each.entity ? ` of ${each.entity}` : ""}`);
  button.title = `${each.topic}, first ${each.firstTime}, last ${each.lastTime}`;
  button.addEventListener("click", () => { chosen = isChosen(each) ? null : each; showLetters(); });
  return make("li", {}, button);
}

/** The bytes as text where they are UTF-8, else in base64. */
function text(base64) {
  const raw = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  try { return new TextDecoder("utf-8", { fatal: true }).decode(raw); } catch { return base64; }
}

function letter(each) {
  const place = `${each.topic}, ${each.line === null ? `partition ${each.partition}, offset ${each.offset}` : `line ${each.line}`}`;
  const item = make("li", {},
    make("strong", {}, `${each.code} (${each.stage})`),
    make("p", {}, each.reason),
    make("p", { class: "soft" }, `${place} · ${bytes(each.valueBytes)} · ${counted(each.attempts, "attempt")} · number ${each.id} · `, time(each.time)));
  if (each.value !== null) item.append(make("pre", { tabindex: "0", "aria-label": `The bytes of dead letter ${each.id}` }, text(each.value)));
  return item;
}

element("moreletters").addEventListener("click", more);
