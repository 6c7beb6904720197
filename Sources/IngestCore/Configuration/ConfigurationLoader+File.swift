import Glibc
import RecordDecoding
import Yams

extension ConfigurationLoader {
    private static let largestFileBytes = 1_048_576

    /// Reads the named file, or the default file if it is there; returns the path that was read.
    mutating func read(file: String?, defaultFile: String = WorkerConfiguration.defaultFile) -> String? {
        let path = file ?? defaultFile
        let origin = ConfigurationOrigin.file(path: path, line: 1, column: 1)
        switch Self.contents(of: path) {
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                problems.add(
                    .syntax, at: origin, "the file is not UTF-8", remedy: "Save it as UTF-8 text.")
                return path
            }
            // Editors of Windows begin a file with a byte order mark.
            apply(yaml: text.hasPrefix("\u{FEFF}") ? String(text.dropFirst()) : text, path: path)
            return path
        case .failure(let failure):
            if file == nil && failure.isMissing { return nil }
            problems.add(
                .unreadable, at: origin, "the configuration file cannot be read: \(failure.reason)",
                remedy: "Check the path given to --config and the file's permissions.")
            return path
        }
    }

    struct ReadFailure: Error {
        var reason: String
        var isMissing = false
    }

    static func contents(of path: String) -> Result<[UInt8], ReadFailure> {
        var bytes = [UInt8](repeating: 0, count: largestFileBytes + 1)
        guard let file = fopen(path, "re") else {
            let code = errno
            return .failure(ReadFailure(reason: String(cString: strerror(code)), isMissing: code == ENOENT))
        }
        defer { fclose(file) }
        let count = fread(&bytes, 1, bytes.count, file)
        if ferror(file) != 0 { return .failure(ReadFailure(reason: String(cString: strerror(errno)))) }
        if count == bytes.count { return .failure(ReadFailure(reason: "it is larger than \(largestFileBytes) bytes")) }
        return .success(Array(bytes[..<count]))
    }

    /// Applies a YAML text.
    mutating func apply(yaml: String, path: String) {
        do {
            guard let root = try Yams.compose(yaml: yaml, .basic) else { return }
            let value = ConfigurationNode(node: root, source: .file(path: path))
            if value.isNull { return }
            guard case .mapping(let mapping) = root else {
                problems.add(
                    .invalidValue, at: value.origin,
                    "the file is \(value.shown(name: path)), which is not a mapping of keys",
                    remedy: "Write lines such as store: { path: data/ingest.sqlite }.")
                return
            }
            walk(mapping, of: value, section: nil)
        } catch {
            addSyntax(error, source: .file(path: path), text: yaml)
        }
    }

    /// Applies the keys of a mapping: the whole file, or one section of it.
    mutating func walk(_ mapping: Node.Mapping, of parent: ConfigurationNode, section: String?) {
        for (keyNode, valueNode) in mapping {
            let key = parent.child(keyNode)
            let value = parent.child(valueNode)
            guard let name = key.text else {
                problems.add(
                    .unknownKey, at: key.origin, "a key is \(key.shown(name: "key")), which is not text",
                    remedy: "Use names as keys.")
                continue
            }
            apply(name, key: key, value: value, section: section)
        }
    }

    private mutating func apply(_ name: String, key: ConfigurationNode, value: ConfigurationNode, section: String?) {
        let path = section.map { "\($0).\(name)" } ?? name
        let isInPlace = section != nil || !name.contains(".")
        if isInPlace, let known = ConfigurationKey.byPath[path] {
            assign(known, value)
        } else if section == "kafka" {
            assignKafka(name, value, at: key.origin)
        } else if section == nil, ConfigurationKey.sections.contains(name) {
            apply(section: name, value)
        } else {
            unknown(path, at: key.origin)
        }
    }

    /// Applies a section; one without keys, as when all its lines are comments, changes nothing.
    mutating func apply(section: String, _ value: ConfigurationNode) {
        if case .mapping(let mapping) = value.node {
            walk(mapping, of: value, section: section)
        } else if !value.isNull {
            let keys = ConfigurationKey.known.map(\.path).filter { $0.hasPrefix("\(section).") }
            problems.add(
                .invalidValue, at: value.origin, "\(section) is \(value.shown(name: section)), which is not a mapping",
                remedy: "Write its keys inside it: \(keys.joined(separator: ", ")).")
        }
    }

    /// Reports Yams's error about a text, without the text itself.
    mutating func addSyntax(_ error: any Error, source: ConfigurationNode.Source, text: String) {
        var line = 1
        var column = 1
        var message = "the text is not YAML"
        var code = ConfigurationProblem.Code.syntax
        var remedy = "Correct the line; a value with special characters goes into quotes."
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            (line, column, message) = (mark.line, mark.column, "not YAML: \(problem)")
        case .reader(let problem, let offset, _, _):
            line = 1 + text.prefix(offset ?? 0).count { $0.isNewline }
            message = "not YAML: \(problem)"
        case .duplicatedKeysInMapping(let names, let context):
            (line, column) = (context.mark.line, context.mark.column)
            message = "the mapping has a key twice: \(names.joined(separator: ", ")) (the first is here)"
            code = .duplicateKey
            remedy = "Keep one of them."
        default: break
        }
        let origin: ConfigurationOrigin =
            switch source {
            case .file(let path): .file(path: path, line: line, column: column)
            case .environment(let name): .environment(name: name)
            case .flag(let key): .flag(key: key)
            }
        problems.add(code, at: origin, message, remedy: remedy)
    }
}
