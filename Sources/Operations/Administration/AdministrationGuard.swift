import Hummingbird

/// Checks the head of an administrative request, whose token the server has checked already.
struct AdministrationGuard: Sendable {
    let hosts: HTTPHosts

    /// The characters that an idempotency key may have.
    static let maximumKeyLength = 128

    /// Checks the head, and returns the idempotency key, or nil where there is none.
    ///
    /// - Throws: ``HTTPRefusal`` for the first check that the head fails.
    func checkedKey(of request: Request) throws(HTTPRefusal) -> String? {
        guard hosts.admits(request) else { throw .otherHost }
        try checkOrigin(request.headers, request.head.authority ?? "")
        guard isJSON(request.headers[.contentType]) else {
            throw HTTPRefusal(
                status: .unsupportedMediaType, code: "http.content_type",
                detail: "This path asks for the header 'Content-Type: application/json'.")
        }
        return try key(request.headers)
    }

    private static let fetchSite = HTTPFields.Element.Name("Sec-Fetch-Site")
    private static let idempotencyKey = HTTPFields.Element.Name("Idempotency-Key")

    /// A browser names the page that asks; other clients name none.
    private func checkOrigin(_ headers: HTTPFields, _ authority: String) throws(HTTPRefusal) {
        let site = Self.fetchSite.flatMap { headers[$0] }
        let isOwnSite = site.map { ["same-origin", "none"].contains($0) } ?? true
        let isOwnOrigin =
            headers[.origin].map { origin in
                ["http://\(authority)", "https://\(authority)"].contains(origin.lowercased())
            } ?? true
        if isOwnSite, isOwnOrigin { return }
        throw HTTPRefusal(
            status: .forbidden, code: "http.origin", detail: "A page of another origin may not administer the worker.")
    }

    private func isJSON(_ type: String?) -> Bool {
        guard let type else { return false }
        let parts = type.lowercased().split(separator: ";").map { $0.filter { $0 != " " } }
        return parts.first == "application/json" && parts.dropFirst().allSatisfy { $0 == "charset=utf-8" }
    }

    private func key(_ headers: HTTPFields) throws(HTTPRefusal) -> String? {
        guard let name = Self.idempotencyKey else { return nil }
        let keys = headers[values: name]
        guard let key = keys.first else { return nil }
        let isPlain = key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        if keys.count == 1, isPlain, (1...Self.maximumKeyLength).contains(key.utf8.count) { return key }
        throw HTTPRefusal(
            status: .badRequest, code: "http.idempotency_key",
            detail: "The header 'Idempotency-Key' takes 1 to \(Self.maximumKeyLength) visible characters, once.")
    }
}
