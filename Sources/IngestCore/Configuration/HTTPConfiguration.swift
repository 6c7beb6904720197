import KafkaClient

/// Says where the HTTP server listens.
public struct HTTPConfiguration: Sendable, Equatable {
    /// The address or host name.
    public var host = "127.0.0.1"
    /// The port; 0 takes any free one.
    public var port = 8080
    /// Whether there is an HTTP server.
    public var enabled = true
    /// Whether the server has the console, which shows objects and the bytes of dead letters.
    public var console = true
    /// The token that all paths but the probes ask for, or nil where none is asked for.
    public var bearerToken: String?
    /// The token that administrative requests ask for, or nil where there are none over HTTP.
    public var operatorToken: String?
    /// The names by which a proxy or a reader may ask, beside addresses, `localhost` and `host`; with commas.
    public var allowedHosts: String?
    /// Whether other machines may be served without a token.
    public var allowUnauthenticated = false
    /// The open connections at most.
    public var maxConnections = 64
    /// The readers of the change feed at most, three fewer than connections.
    public var maxFeedReaders = 48

    /// Creates the defaults.
    public init() {}

    /// Whether only this machine reaches the address.
    public var isLoopback: Bool {
        let name = host.lowercased()
        if name == "localhost" || name == "::1" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension HTTPConfiguration: RedactedDescription {
    /// Lists the settings without the token.
    public var description: String {
        "host=\(host) port=\(port) enabled=\(enabled) bearerToken=\(bearerToken == nil ? "null" : SecretName.replacement)"
    }
}

extension HTTPConfiguration {
    /// The fewest characters of a token: fewer could be guessed.
    static let minimumTokenLength = 16

    /// Returns the fault of a token, or nil.
    static func fault(inToken token: String) -> String? {
        if token.utf8.count < minimumTokenLength { return "has fewer than \(minimumTokenLength) characters" }
        // The characters that RFC 6750 allows and a header takes without quotes.
        let isAllowed = token.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        return isAllowed ? nil : "has a character that a header does not take"
    }
}

extension ConfigurationSection {
    static let http = ConfigurationSection(
        "http", "Health, metrics, status, the change feed, the console and administration.",
        keys: [
            .boolean("http.enabled", \.http.enabled, "Whether there is an HTTP server."),
            .boolean(
                "http.console", \.http.console,
                "Whether the server has the console. It shows objects and the bytes of dead letters to every client "
                    + "that reaches the port and has the token, if there is one."),
            .text(
                "http.host", \.http.host,
                "The address. An address that other machines may reach, such as 0.0.0.0, needs a bearerToken."),
            .integer(
                "http.port", \.http.port, 0...65_535, "The port of the HTTP server; 0 takes any free one and prints it."
            ),
            .token(
                "http.bearerToken", \.http.bearerToken,
                "The token that all paths but the probes ask for, at least 16 characters: 'Authorization: Bearer "
                    + "TOKEN'. null asks for none. Keep it in a file, \"file:/run/secrets/token\" or "
                    + "INGEST_HTTP_BEARER_TOKEN_FILE, or in INGEST_HTTP_BEARER_TOKEN."),
            .token(
                "http.operatorToken", \.http.operatorToken,
                "The token for administrative requests, another one than bearerToken. null turns these requests off, "
                    + "on this machine too. Commands still ask the worker over its socket. Keep the token in a file: "
                    + "\"file:/run/secrets/operator-token\", or INGEST_HTTP_OPERATOR_TOKEN_FILE."),
            .optionalText(
                "http.allowedHosts", \.http.allowedHosts,
                "The names by which requests may ask for the server, beside addresses, localhost and host; with "
                    + "commas. A proxy needs its own name here. Readers with a token, or at another address than "
                    + "loopback, may ask by any name."),
            .boolean(
                "http.allowUnauthenticated", \.http.allowUnauthenticated,
                "true serves other machines without a token."),
            .integer(
                "http.maxConnections", \.http.maxConnections, 8...10_000,
                "The maximum number of connections. At the limit the server closes the one that has waited longest."),
            .integer(
                "http.maxFeedReaders", \.http.maxFeedReaders, 1...10_000,
                "The maximum number of feed readers, at least three fewer than connections. Further readers have to try "
                    + "again later."),
        ])
}

extension ConfigurationKey {
    fileprivate static func token(_ path: String, _ place: ConfigurationPath<String?>, _ summary: String) -> Self {
        .secret(
            path, place, fault: HTTPConfiguration.fault(inToken:), remedy: "Make one with 'openssl rand -hex 32'.",
            summary)
    }
}
