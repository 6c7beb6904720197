import Foundation
import KafkaClient

/// Replaces the values of secrets in texts.
package struct SecretRedactor: Sendable {
    private let values: [String]

    /// Makes a redactor of the texts that must not be shown, such as ``WorkerConfiguration/secretValues``.
    package init(_ values: [String]) {
        // Longer ones first, so that a secret inside another leaves no rest. Very short ones would blot out whole texts.
        self.values = values.filter { $0.utf8.count >= 4 }.sorted { $0.utf8.count > $1.utf8.count }
    }

    /// Returns a text without the secrets.
    package func redacted(_ text: String) -> String {
        var text = text
        for value in values where text.contains(value) { text = text.replacing(value, with: SecretName.replacement) }
        return text
    }
}

extension WorkerConfiguration {
    /// The values that no log, answer or error may show: values of settings whose name says so, and values read from
    /// files.
    package var secretValues: [String] {
        var values =
            kafka.properties.secretValues
            + [http.bearerToken, http.operatorToken, schemaRegistry.password, schemaRegistry.bearerToken].compactMap {
                $0
            }
        if case .postgres(let url) = storeKind { values += Self.secrets(of: url) }
        // A file or a variable may hold several lines, such as a key; a text that is escaped shows each for itself.
        let lines = values.flatMap { $0.split(whereSeparator: \.isNewline).map { String($0) } }
        return Set(values + lines.filter { $0.utf8.count >= 8 }).sorted()
    }

    /// The passwords in a URL, as it has them and as they are meant, and the URL that has them.
    private static func secrets(of url: String) -> [String] {
        let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let parameters = (parts.count > 1 ? parts[1] : "").split(separator: "&").map {
            $0.split(separator: "=", maxSplits: 1)
        }
        var found = parameters.filter { $0.count == 2 && $0[0].hasSuffix("password") }.map { String($0[1]) }
        // URLComponents does not read a URL of several hosts.
        if let match = url.firstMatch(of: /:\/\/[^:@\/?]*:([^\/?]*)@/) { found.append(String(match.1)) }
        return found.isEmpty ? [] : [url] + found + found.compactMap(\.removingPercentEncoding)
    }
}
