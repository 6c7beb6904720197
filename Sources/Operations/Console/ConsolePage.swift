import Hummingbird

/// The console: a page for browsers, with the files that it loads. They stand in `Page` and are part of the program.
///
/// The page holds no data itself, so it is served without the token; where the worker asks for one, the page asks its
/// reader. It shows all data as text, never as HTML.
enum ConsolePage {
    /// A file of the page: its path, the bytes and the type.
    struct File: Sendable {
        let path: String
        let bytes: [UInt8]
        let type: String

        init(_ name: String, _ bytes: [UInt8]) {
            path = "/console/\(name)"
            self.bytes = bytes
            type = name.hasSuffix(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8"
        }
    }

    static let files = [
        File("console.css", PackageResources.console_css), File("console.js", PackageResources.console_js),
        File("api.js", PackageResources.api_js), File("charts.js", PackageResources.charts_js),
        File("letters.js", PackageResources.letters_js), File("objects.js", PackageResources.objects_js),
        File("administration.js", PackageResources.administration_js),
    ]

    /// Lets the page load its own files and ask its own worker, and nothing else.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"

    static let routes: [HTTPRoute] =
        [
            HTTPRoute("/", access: .everybody) { _ in
                var response = Response.bytes(PackageResources.index_html, type: "text/html; charset=utf-8")
                response.headers[.contentSecurityPolicy] = policy
                return response
            }
        ] + files.map { file in HTTPRoute(file.path, access: .everybody) { _ in .bytes(file.bytes, type: file.type) } }
}
