"use strict";
// Finds the sections that have all words of a query, in any form, and the symbols that it names.
const input = document.getElementById("search");
const results = document.getElementById("results");
const base = document.body.dataset.base;

// The index is large, so it is loaded with the first query. A script can be loaded from a file, which fetch() cannot.
let isLoading = false;
function load() {
  if (isLoading) return;
  isLoading = true;
  const script = document.createElement("script");
  script.src = `${base}/index.js`;
  script.onload = show;
  document.head.append(script);
}

// On a wide window the list of pages stands open beside the text.
const menu = document.getElementById("menu");
const wide = matchMedia("(min-width: 60rem)");
const arrange = () => { menu.open = wide.matches; };
wide.addEventListener("change", arrange);
arrange();
// The list is longer than the window: it shows the entry of this page.
if (wide.matches) document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" });

// Words of a reader that the pages do not use, with those that they use instead.
const SYNONYMS = {
  __proto__: null, dlq: "dead letter", k8s: "kubernetes", observe: "watch", paginate: "page", pagination: "page",
  paging: "page", pg: "postgresql", ssl: "tls", subscribe: "watch",
};
const ENDINGS = /(?:ation|ing|ion|ed|ie|e|y)$/;

// Returns the words of a text, each behind one space, so that " word" is the beginning of a word.
function words(text) {
  return ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim()}`;
}

// Returns the beginning that forms of a word share: 'delet' of 'deletes' and 'deletion'. A short word keeps its ending.
function stem(word) {
  const single = word.length > 3 ? word.replace(/(?<!s)s$/, "") : word;
  const found = single.replace(ENDINGS, "").replace(/([bdgmnprt])\1$/, "$1");
  return found.length < 4 ? single : found;
}

// Returns the name of a symbol in one form: 'deleterule' of 'DeleteRule', 'undo' of 'undo()'.
function symbolName(symbol) {
  return symbol.split("(")[0].toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

// Returns a text with spaces between the parts of a name: 'merge Policy' of 'mergePolicy', 'HTTP Route' of 'HTTPRoute'.
function parts(text) {
  return text.replace(/[\p{Ll}\p{N}](?=\p{Lu})|\p{Lu}(?=\p{Lu}\p{Ll})/gu, "$& ");
}

// Returns a text's words, and the parts of the names in it.
function searchable(text) {
  const names = text.match(/[\p{L}\p{N}]+\p{Lu}[\p{L}\p{N}]*/gu) ?? [];
  return words(text) + words(parts(names.join(" ")));
}

// The sections in the form in which the search reads them.
let sections = null;
function prepare() {
  sections = pages.flatMap((page) => page.s.map(([heading, anchor, text, aliases = ""]) => ({
    page, heading, anchor, text, title: searchable(page.t), head: searchable(heading), body: searchable(text),
    aliases: searchable(aliases), stems: stems(heading), isSymbol: page.u.startsWith("libraries/") && !page.a,
    names: new Set([heading, heading.split("(")[0].split(".").at(-1), ...aliases.split(" ")].map(symbolName)),
  })));
}

// Returns the stems of a text's words, without an article at the beginning: 'history' of 'The history'.
function stems(text) {
  return words(text).trim().replace(/^(the|an?) /, "").split(" ").map(stem).join(" ");
}

// Returns the forms of a term of a query, with what a hit of each is worth.
function forms(term) {
  const word = words(term), last = word.split(" ").at(-1);
  const found = [[word, 1], [words(parts(term)), 0.6], [word.slice(0, word.length - last.length) + stem(last), 0.6]];
  const other = SYNONYMS[last] ?? SYNONYMS[stem(last)];
  return other ? [...found, [` ${other}`, 0.8]] : found;
}

// Returns what a section is worth for a term: a word in a heading or title counts more than one in the text.
function points(section, term) {
  return Math.max(...term.map(([form, worth]) => worth * Math.max(
    section.aliases.includes(form) ? 4 : 0,
    (section.title.includes(form) ? 6 : 0) + (section.head.includes(form) ? 8 : 0)
    + (section.body.includes(form) ? 1 : 0))));
}

// Returns how much the place of a section matters: a symbol comes after pages, unless the query names it.
function weight(section, query, terms) {
  // Records of runs and of changes come after the pages that answer a question.
  if (section.page.u.startsWith("evidence/") || section.page.u === "changelog.html") return 0.25;
  if (!section.isSymbol) return 1;
  if (section.names.has(symbolName(query))) return /[A-Z]/.test(query) ? 2 : 0.7;
  return terms.every((term) => term.some(([form]) => section.aliases.includes(form))) ? 0.5 : 0.1;
}

function find(query) {
  if (typeof pages === "undefined") return load();
  if (!sections) prepare();
  const terms = query.split(/\s+/).filter((term) => words(term).trim()).map(forms);
  if (!terms.length) return [];
  const asked = [query, SYNONYMS[query.toLowerCase()] ?? query].map(stems), found = [];
  for (const section of sections) {
    const each = terms.map((term) => points(section, term));
    if (each.includes(0)) continue;
    const isHeading = !section.isSymbol && asked.includes(section.stems);
    const score = each.reduce((sum, next) => sum + next, isHeading ? 10 : 0) * weight(section, query, terms);
    found.push({ ...section, score });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, 20);
}

function excerpt(text, query) {
  const first = query.split(/\s+/)[0].toLowerCase();
  const places = [first, stem(first)].map((form) => text.toLowerCase().indexOf(form));
  const at = Math.max(0, Math.max(...places) - 50);
  return (at ? "…" : "") + text.slice(at, at + 160).trim() + "…";
}

function show() {
  const query = input.value.trim();
  const found = find(query);
  if (!found) return;
  results.hidden = !query;
  results.replaceChildren();
  if (query && !found.length) results.textContent = "No section has all these words.";
  for (const { page, heading, anchor, text } of found) {
    const link = document.createElement("a");
    link.href = `${base}/${page.u}#${anchor}`;
    const title = document.createElement("strong");
    title.textContent = heading === page.t ? page.t : `${page.t}: ${heading}`;
    const body = document.createElement("span");
    body.textContent = excerpt(text, query);
    link.append(title, body);
    results.append(link);
  }
}

// A link may carry a query: index.html?q=tombstone.
input.value = new URLSearchParams(location.search).get("q") ?? "";
if (input.value) show();

input.addEventListener("focus", load);
input.addEventListener("input", show);
input.form.addEventListener("submit", (event) => {
  event.preventDefault();
  const first = results.querySelector("a");
  if (first) first.click();
});
results.addEventListener("click", () => { results.hidden = true; });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
  if (event.key === "Escape") { input.value = ""; show(); }
});
