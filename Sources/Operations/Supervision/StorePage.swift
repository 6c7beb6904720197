import Hummingbird

/// The page that leads to the console of each store, where a process has several.
///
/// It names no more than the partitions, so it is served without the token, as the console's page is.
enum StorePage {
    /// Answers `/` with a link to each store.
    ///
    /// - Parameter partitions: returns the partitions whose stores are open.
    static func route(_ partitions: @escaping @Sendable () -> [Int32]) -> HTTPRoute {
        HTTPRoute("/", access: .everybody) { _ in
            var response = Response.bytes(Array(html(partitions()).utf8), type: "text/html; charset=utf-8")
            response.headers[.contentSecurityPolicy] = ConsolePage.policy
            return response
        }
    }

    private static func html(_ partitions: [Int32]) -> String {
        let items = partitions.map { "<li><a href=\"stores/\($0)/\">Store of partition \($0)</a></li>" }
        let list =
            items.isEmpty
            ? "<p>No store is open. <a href=\"readyz?verbose\">readyz</a> says why.</p>" : "<ul>\(items.joined())</ul>"
        return """
            <!doctype html>
            <html lang="en">
            <head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Stores</title></head>
            <body><h1>Stores</h1>\(list)<p><a href="readyz?verbose">readyz</a>, <a href="status">status</a> and
            <a href="metrics">metrics</a> are of all stores.</p></body>
            </html>

            """
    }
}
