import GraphCore

/// The file of all settings with their defaults, `config/worker.yaml`: made from the declarations.
package enum ConfigurationFile {
    private static let head = #"""
        # yaml-language-server: $schema=worker.schema.json
        # The worker's configuration. Every key is here with its default: what you leave out stays the same.
        #
        # The first of these that has a value wins:
        #   1. a flag:       --set store.path=/var/lib/ingest/store.sqlite   (--set topics=a,b for a list)
        #   2. a variable:   INGEST_STORE_PATH=/var/lib/ingest/store.sqlite  (INGEST_TOPICS=a,b for a list)
        #   3. this file:    --config FILE or INGEST_CONFIG, else config/worker.yaml if it exists
        #   4. the default
        # Relative paths begin in the working directory. The program refuses an unknown key, and names the closest one.
        # A running worker takes a setting with the mark [reload] at SIGHUP. The others need a restart.
        """#
    private static let width = 120

    /// The file as YAML, with a line break at the end.
    package static var yaml: String {
        var lines = [head]
        for section in ConfigurationSection.all {
            guard let name = section.name else {
                for key in section.keys { lines += [""] + setting(key, indent: "") }
                continue
            }
            lines += [""] + comment(section.summary, indent: "") + ["\(name):"]
            for property in section.properties {
                lines +=
                    comment(property.summary, indent: "  ") + ["  \(property.name): \(plain(property.defaultJSON))"]
            }
            lines += section.keys.flatMap { setting($0, indent: "  ") }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func setting(_ key: ConfigurationKey, indent: String) -> [String] {
        let mark = key.reload == .restart ? "" : " [\(key.reload.text)]"
        let example = key.example.map { "\(indent)#\($0.hasPrefix(" ") ? "" : " ")\($0)" }
        return comment(key.summary + mark, indent: indent) + example + [
            "\(indent)\(key.name): \(plain(key.defaultJSON))"
        ]
    }

    /// Returns a text without the quotes that YAML does not need.
    private static func plain(_ json: String) -> String {
        let text = json.replacing("\"", with: "")
        return text.contains(":") || text.isEmpty ? json : text
    }

    private static func comment(_ text: String, indent: String) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + word.count < width {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append("\(indent)# \(word)")
            }
        }
        return lines
    }
}
