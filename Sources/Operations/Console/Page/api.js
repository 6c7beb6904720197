// Questions to the worker, and the forms in which the page shows numbers, times and elements.

let token = sessionStorage.getItem("token") ?? "";
let operatorToken = sessionStorage.getItem("operatorToken") ?? "";

export const element = (id) => document.getElementById(id);

/** Makes an element; children are elements or texts, never HTML. */
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function useToken(text) {
  token = text;
  sessionStorage.setItem("token", text);
}

/** The operator's token also opens what the reader's opens. */
export function useOperatorToken(text) {
  operatorToken = text;
  sessionStorage.setItem("operatorToken", text);
}

/** Reads JSON. A number that JavaScript would change, as beyond 2^53, becomes a text. */
export function parse(json) {
  let isText = false;
  return JSON.parse(json.replace(/\\.|"|-?\d[\d.eE+-]{15,}/g, (found) => {
    if (found === '"') isText = !isText;
    return isText || found[0] === "\\" || found === '"' || String(Number(found)) === found ? found : `"${found}"`;
  }));
}

/** Asks the worker; what it refuses is an error with its words. */
export async function ask(path, options = {}) {
  const headers = { ...options.headers };
  const shown = token || operatorToken;
  if (shown) headers.Authorization = `Bearer ${shown}`;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Error("The worker does not answer. It is tried again every two seconds.");
  }
  element("access").hidden = answer.status !== 401;
  element("wrongtoken").hidden = !shown;
  document.body.classList.toggle("locked", answer.status === 401);
  if (answer.status === 401) throw new Error(shown ? "The token does not match." : "The worker asks for its token.");
  if (!answer.ok && answer.headers.get("content-type")?.startsWith("application/problem+json")) {
    throw new Error((await answer.json()).detail);
  }
  return answer;
}

/** Asks with parameters, which may hold spaces: the worker reads `+` as itself. */
export async function askJSON(path, parameters = new URLSearchParams(), options = {}) {
  const query = parameters.toString().replaceAll("+", "%20");
  return parse(await (await ask(query ? `${path}?${query}` : path, options)).text());
}

let view = new AbortController();

/** Asks for a view; the question ends with the view, and the worker's search with the question. */
export const askForView = (path, parameters) => askJSON(path, parameters, { signal: view.signal });

/** Ends the questions of the view that was shown. */
export function leaveView() {
  view.abort();
  view = new AbortController();
}

/** Thrown where a request lacks the operator's token, or has a wrong one. */
export class OperatorTokenNeeded extends Error {}

/** Has the worker carry a request out. The key lets it recognise a request that is sent again. */
export async function administer(name, parameters, key) {
  let answer;
  try {
    answer = await fetch(`admin/${name}`, {
      method: "POST", cache: "no-store", body: JSON.stringify(parameters),
      headers: { "Content-Type": "application/json", "Idempotency-Key": key, Authorization: `Bearer ${operatorToken || token}` },
    });
  } catch {
    throw new Error("The worker did not answer. Confirm again: it does nothing twice.");
  }
  if (answer.status === 401) throw new OperatorTokenNeeded("The worker asks for the operator token.");
  const said = parse(await answer.text());
  if (!answer.ok) throw new Error(said.detail);
  return said;
}

/** Follows the changes until the connection ends: calls `take` with each transaction. */
export async function follow(take) {
  const answer = await ask("changes?after=latest&granularity=transaction", { headers: { Accept: "text/event-stream" } });
  if (!answer.ok) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data: ")) take(parse(line.slice(6)));
  }
}

// Numbers and times

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const count = (number) => (number === null || number === undefined ? "–" : whole.format(number));
export const counted = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
/** A text as a sentence begins and ends. */
export const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

export const rate = (number) => (number < 10 ? short : whole).format(number);

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (number >= 1000 && unit < units.length - 1) { number /= 1000; unit += 1; }
  return `${(unit === 0 ? whole : short).format(number)} ${units[unit]}`;
}

export function duration(seconds) {
  if (seconds < 1) return `${short.format(seconds * 1000)} ms`;
  if (seconds < 10) return `${short.format(seconds)} s`;
  if (seconds < 90) return `${whole.format(seconds)} s`;
  if (seconds < 5400) return `${whole.format(seconds / 60)} min`;
  if (seconds < 129600) return `${whole.format(seconds / 3600)} h`;
  return `${whole.format(seconds / 86400)} days`;
}

function relative(text) {
  const seconds = (Date.now() - Date.parse(text)) / 1000;
  return Math.abs(seconds) < 2 ? "just now" : seconds < 0 ? `in ${duration(-seconds)}` : `${duration(seconds)} ago`;
}

/** A time relative to now, with the exact one as its tooltip. */
export const time = (text) => make("time", { datetime: text, title: text, class: "relative" }, relative(text));

/** Lets the relative times of the page go on. */
export function refreshTimes() {
  for (const each of document.querySelectorAll("time.relative")) {
    const text = relative(each.dateTime);
    if (each.textContent !== text) each.textContent = text;
  }
}

/** A time as the store has it, with the distance from now as its tooltip. */
export const exactTime = (text) => make("time", { datetime: text, title: relative(text) }, text.replace("T", " ").replace(/\.\d+/, ""));
