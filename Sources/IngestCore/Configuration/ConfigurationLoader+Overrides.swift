import GraphCore
import Yams

extension ConfigurationLoader {
    /// Applies the values of `--set`, in their order.
    mutating func apply(settings: [String]) {
        for setting in settings {
            guard let equals = setting.firstIndex(of: "="), equals != setting.startIndex else {
                // The text after the name may be a secret, as in `sasl.password:…`: show the name only.
                let name = setting.prefix { $0.isLetter || $0.isNumber || $0 == "." || $0 == "_" || $0 == "-" }
                problems.add(
                    .syntax, at: .flag(key: String(name)), "the setting has no \"=\"",
                    remedy: "Write it as --set KEY=VALUE, as in --set store.path=data/ingest.sqlite.")
                continue
            }
            let key = String(setting[..<equals])
            apply(key: key, text: String(setting[setting.index(after: equals)...]), source: .flag(key: key))
        }
    }

    private mutating func apply(key: String, text: String, source: ConfigurationNode.Source) {
        let origin = ConfigurationNode(node: Node(""), source: source).origin
        if let known = ConfigurationKey.byPath[key] {
            guard let value = node(from: text, isList: known.isList, source: source) else { return }
            assign(known, value)
        } else if key.hasPrefix("kafka.") {
            guard let value = node(from: text, isList: false, source: source) else { return }
            assignKafka(String(key.dropFirst("kafka.".count)), value, at: origin)
        } else if ConfigurationKey.sections.contains(key) {
            guard let value = node(from: text, isList: true, source: source) else { return }
            apply(section: key, value)
        } else {
            unknown(key, at: origin)
        }
    }

    /// Applies the variables that begin with `INGEST_`.
    ///
    /// Names are compared without regard to case and underscores. `INGEST_TEST_…` is left to tests,
    /// and `INGEST_CONFIG` names the file.
    mutating func apply(environment: [String: String]) {
        let byName = Dictionary(
            ConfigurationKey.known.map { (ClosestName.normalized($0.variable), $0) },
            uniquingKeysWith: { first, _ in first })
        var seen: [[UInt8]: String] = [:]
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) {
            let upper = name.uppercased()
            guard upper.hasPrefix("INGEST_"), !upper.hasPrefix("INGEST_TEST_"), name != WorkerConfiguration.fileVariable
            else { continue }
            let source = ConfigurationNode.Source.environment(name: name)
            let (setting, isFile) = Self.setting(ofVariable: upper, known: byName)
            if let other = seen.updateValue(name, forKey: ClosestName.normalized(setting)) {
                problems.add(
                    .conflict, at: .environment(name: name), "the variables \(other) and \(name) mean the same setting",
                    remedy: "Keep one of them.")
            }
            let text = isFile ? ConfigurationNode.filePrefix + text : text
            if let known = byName[ClosestName.normalized(setting)] {
                guard let value = node(from: text, isList: known.isList, source: source) else { continue }
                assign(known, value)
            } else if setting.hasPrefix("INGEST_KAFKA_"), setting.utf8.count > "INGEST_KAFKA_".utf8.count {
                guard let value = node(from: text, isList: false, source: source) else { continue }
                assignKafka(Self.property(ofVariable: setting), value, at: value.origin)
            } else {
                addUnknownVariable(name)
            }
        }
    }

    /// Returns the variable of the setting, and whether the variable names a file with the setting's value. Variables
    /// of secrets and of librdkafka's properties name a file where they end in `_FILE`.
    private static func setting(
        ofVariable name: String, known: [[UInt8]: ConfigurationKey]
    ) -> (name: String, isFile: Bool) {
        guard name.hasSuffix("_FILE"), known[ClosestName.normalized(name)] == nil else { return (name, false) }
        let setting = String(name.dropLast("_FILE".count))
        // These properties of librdkafka end so themselves.
        if name.hasPrefix("INGEST_KAFKA_SASL_OAUTHBEARER_ASSERTION_") { return (name, false) }
        let isSecret = known[ClosestName.normalized(setting)]?.isSecret ?? setting.hasPrefix("INGEST_KAFKA_")
        return isSecret ? (setting, true) : (name, false)
    }

    /// Turns `INGEST_KAFKA_BOOTSTRAP_SERVERS` into `bootstrap.servers`.
    private static func property(ofVariable name: String) -> String {
        String(name.dropFirst("INGEST_KAFKA_".count).lowercased().map { $0 == "_" ? "." : $0 })
    }

    private mutating func addUnknownVariable(_ name: String) {
        let variables = ConfigurationKey.known.map(\.variable)
        problems.add(
            .unknownKey, at: .environment(name: name), "no setting has this name",
            suggestion: ClosestName.find(name.uppercased(), among: variables),
            remedy: "Unset it, or use the name of a known key, as in INGEST_STORE_PATH for store.path.")
    }

    /// Makes a node of a flag's or variable's text.
    ///
    /// The loader takes text that is not in quotes as it is, so that a password with `#` or `: ` inside is not cut. It
    /// reads quoted texts, lists and sections as YAML.
    private mutating func node(
        from text: String, isList: Bool, source: ConfigurationNode.Source
    ) -> ConfigurationNode? {
        let isQuoted = text.count >= 2 && (text.first == "\"" || text.first == "'") && text.first == text.last
        guard isList || isQuoted else { return ConfigurationNode(node: Node(text, .implicit, .plain), source: source) }
        do {
            let node = try Yams.compose(yaml: text, .basic) ?? Node("", .implicit, .plain)
            if !isList, node.scalar == nil {
                return ConfigurationNode(node: Node(text, .implicit, .plain), source: source)
            }
            return ConfigurationNode(node: node, source: source)
        } catch {
            addSyntax(error, source: source, text: text)
            return nil
        }
    }
}
