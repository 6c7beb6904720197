import CPostgres
import Foundation

/// The server, database and schema of a store, with all that a connection needs.
///
/// A URL may hold a password, so no message shows it: ``description`` names user, server, database and schema.
struct ConnectionAddress: Sendable, CustomStringConvertible {
    /// The number of bytes at which PostgreSQL cuts names.
    static let maximumNameLength = 63

    /// The URL as libpq takes it, without the parameter `schema`.
    let url: String
    let schema: String
    /// The URL without password and parameters, for people.
    let description: String

    /// - Parameters:
    ///   - url: as in `postgres://user@host:5432/database?schema=chat`.
    ///   - schema: the schema where the URL names none.
    /// - Throws: ``StoreError`` with code `store.unavailable` where it is no such URL.
    init(_ url: String, schema: String) throws(StoreError) {
        let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var parameters = parts.count > 1 ? parts[1].split(separator: "&").map { String($0) } : []
        let prefix = "schema="
        let named = parameters.last { $0.hasPrefix(prefix) }?.dropFirst(prefix.count)
        parameters.removeAll { $0.hasPrefix(prefix) }
        self.url = String(parts[0]) + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
        self.schema = named.map { $0.removingPercentEncoding ?? "" } ?? schema
        guard !self.schema.isEmpty, !self.schema.utf8.contains(0),
            self.schema.utf8.count <= Self.maximumNameLength, let fields = Self.fields(self.url)
        else {
            // The URL itself may hold a password, wherever its author has put it.
            throw StoreError(
                .unavailable, "The URL of the PostgreSQL server cannot be read",
                remedy: "Write it as postgres://user@host:5432/database")
        }
        let user = fields["user"].map { "\($0)@" } ?? ""
        let port = fields["port"].map { ":\($0)" } ?? ""
        description = "postgres://\(user)\(fields["host"] ?? "")\(port)/\(fields["dbname"] ?? "") (\(self.schema))"
    }

    /// The URL of another schema of the database.
    func url(ofSchema schema: String) -> String {
        let encoded = schema.addingPercentEncoding(withAllowedCharacters: Self.unescaped) ?? schema
        return url + (url.contains("?") ? "&" : "?") + "schema=" + encoded
    }

    private static let unescaped = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")

    /// The parts of a URL by libpq's names, or nil where it is none.
    private static func fields(_ url: String) -> [String: String]? {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://"), !url.utf8.contains(0) else { return nil }
        var fault: UnsafeMutablePointer<CChar>?
        defer { PQfreemem(fault) }
        guard let options = PQconninfoParse(url, &fault) else {
            // No memory is no fault of the URL.
            if PostgresConnection.isShortOfMemory(fault) { fatalError("There is no memory left to read a store's URL") }
            return nil
        }
        defer { PQconninfoFree(options) }
        var fields: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { fields[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return fields
    }
}
