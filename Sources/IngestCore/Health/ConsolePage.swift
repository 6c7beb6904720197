import Hummingbird

/// The console: a page that shows a browser what the probes, `/status` and the change feed say.
///
/// It holds no data itself, so it is served without the token; where the worker asks for one, the page asks its reader.
/// The page shows all data as text, never as HTML.
enum ConsolePage {
    /// Answers `/` with the page, and the two files that it loads.
    static let routes: [HTTPRoute] = [
        HTTPRoute("/", isPublic: true) { _ in
            var response = Response.text(html, type: "text/html; charset=utf-8")
            response.headers[.contentSecurityPolicy] =
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            return response
        },
        HTTPRoute("/console.js", isPublic: true) { _ in .text(script, type: "text/javascript; charset=utf-8") },
        HTTPRoute("/console.css", isPublic: true) { _ in .text(style, type: "text/css; charset=utf-8") },
    ]

    static let html = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>ingest-worker</title>
        <link rel="stylesheet" href="console.css">
        <script src="console.js" defer></script>
        </head>
        <body>
        <header><h1>ingest-worker</h1> <span id="about"></span></header>
        <p id="problem" role="alert" hidden></p>
        <form id="access" hidden><label>Token <input id="token" type="password" autocomplete="off"></label>
        <button>Use</button></form>
        <main>
        <section><h2>Health</h2><ul id="checks"></ul></section>
        <section><h2>Counts</h2><table id="counts"></table></section>
        <section><h2>Positions</h2><table id="positions"></table></section>
        <section><h2>Changes</h2><ol id="changes"></ol></section>
        </main>
        <noscript>This page needs JavaScript. <a href="readyz?verbose">readyz</a>, <a href="status">status</a> and
        <a href="metrics">metrics</a> do not.</noscript>
        </body>
        </html>

        """

    static let style = """
        :root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
        body { margin: 1.5rem auto; max-width: 70rem; padding: 0 1rem; }
        h1 { display: inline; font-size: 1.3rem; }
        h2 { font-size: 1rem; margin: 0 0 .5rem; }
        main { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); }
        ul, ol { list-style: none; margin: 0; padding: 0; }
        table { border-collapse: collapse; }
        td, th { padding: .1rem 1rem .1rem 0; text-align: left; }
        td.number { font-variant-numeric: tabular-nums; text-align: right; }
        #about { opacity: .7; }
        #problem, .failed { color: #c62828; font-weight: 600; }
        #changes li { overflow-wrap: anywhere; }

        """

    /// Asks once a second, and no more often while the worker does not answer; follows the feed in one request.
    static let script = #"""
        "use strict";

        const counts = {
          "Records": "counts.records", "Stale": "counts.stale", "Placeholders": "counts.placeholders",
          "Chunks": "counts.chunks", "Commits": "counts.commits", "Notifications": "counts.notifications",
          "Dead letters": "deadLetters", "Last token": "history.token", "Notified": "history.notified",
          "Store, bytes": "store.bytes", "Log, bytes": "store.walBytes",
        };
        const element = (id) => document.getElementById(id);
        const at = (object, path) => path.split(".").reduce((value, key) => value?.[key], object);
        let token = sessionStorage.getItem("token") ?? "";
        let before = null;
        let following = false;

        function make(name, text, kind = "") {
          const made = document.createElement(name);
          made.textContent = text;
          made.className = kind;
          return made;
        }

        function row(...cells) {
          const made = document.createElement("tr");
          for (const cell of cells) made.append(make("td", cell, typeof cell === "number" ? "number" : ""));
          return made;
        }

        async function ask(path, options = {}) {
          const headers = { ...options.headers };
          if (token) headers.Authorization = `Bearer ${token}`;
          const answer = await fetch(path, { ...options, headers, cache: "no-store" });
          element("access").hidden = answer.status !== 401;
          if (answer.status === 401) throw new Error("The worker asks for its token.");
          return answer;
        }

        function showProblem(error) {
          element("problem").hidden = !error;
          element("problem").textContent = error ? error.message : "";
        }

        function showChecks(text) {
          const lines = text.split("\n").filter((line) => line.startsWith("["));
          element("checks").replaceChildren(...lines.map((line) =>
            make("li", line.slice(3), line.startsWith("[-]") ? "failed" : "")));
        }

        function showStatus(status) {
          const now = performance.now();
          const rate = (path) => before && at(status, path) !== null && path.startsWith("counts.")
            ? Math.max(0, Math.round((at(status, path) - at(before.status, path)) * 1000 / (now - before.time))) + "/s" : "";
          element("about").textContent =
            `${status.version} · ${status.store.model} · ${status.store.path} · since ${status.startedAt}`;
          element("counts").replaceChildren(
            ...Object.entries(counts).map(([name, path]) => row(name, at(status, path) ?? "–", rate(path))));
          element("positions").replaceChildren(
            ...status.positions.map((position) => row(position.topic, position.partition, position.nextOffset)));
          before = { status, time: now };
        }

        function showChange(event) {
          for (const change of event.data.changes) {
            const text = `${event.id} ${change.change} ${change.entity} ${change.id} ${(change.properties ?? []).join(", ")}`;
            element("changes").prepend(make("li", text));
          }
          while (element("changes").childElementCount > 50) element("changes").lastElementChild.remove();
        }

        async function follow() {
          const answer = await ask("changes?after=latest&granularity=transaction", { headers: { Accept: "text/event-stream" } });
          if (!answer.ok) return;
          const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
          let rest = "";
          for (;;) {
            const { value, done } = await reader.read();
            if (done) return;
            const lines = (rest + value).split("\n");
            rest = lines.pop();
            for (const line of lines) if (line.startsWith("data: ")) showChange(JSON.parse(line.slice(6)));
          }
        }

        async function turn() {
          try {
            showChecks(await (await ask("readyz?verbose")).text());
            const answer = await ask("status");
            if (!answer.ok) throw new Error((await answer.json()).detail);
            showStatus(await answer.json());
            showProblem(null);
            if (!following) {
              following = true;
              follow().catch(() => {}).finally(() => setTimeout(() => { following = false; }, 2000));
            }
          } catch (error) {
            showProblem(error instanceof TypeError ? new Error("The worker does not answer.") : error);
          }
          setTimeout(turn, 1000);
        }

        element("access").addEventListener("submit", (event) => {
          event.preventDefault();
          token = element("token").value;
          sessionStorage.setItem("token", token);
        });
        turn();

        """#
}
