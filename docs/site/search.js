"use strict";
// Finds the sections that have all words of a query; a word in a heading or title counts more than one in the text.
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

function find(query) {
  if (typeof pages === "undefined") return load();
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const named = /[A-Z]/.test(query);
  const found = [];
  for (const page of pages) {
    for (const [heading, anchor, text] of page.s) {
      const [title, head, body] = [page.t.toLowerCase(), heading.toLowerCase(), text.toLowerCase()];
      let score = 0;
      for (const word of words) {
        const points = (title.includes(word) ? 6 : 0) + (head.includes(word) ? 8 : 0) + (body.includes(word) ? 1 : 0);
        if (!points) { score = 0; break; }
        score += points;
      }
      // Records of runs and of changes come after the pages that answer a question.
      if (page.u.startsWith("evidence/") || page.u === "changelog.html") score /= 4;
      // A symbol comes first for its own name, and after the pages for words of the language.
      if (page.u.startsWith("libraries/")) score = named && head.split("(")[0] === query.toLowerCase() ? score * 2 : score / 10;
      if (score) found.push({ page, heading, anchor, text, score });
    }
  }
  return found.sort((a, b) => b.score - a.score).slice(0, 20);
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 50);
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
    body.textContent = excerpt(text, query.toLowerCase().split(/\s+/)[0]);
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
