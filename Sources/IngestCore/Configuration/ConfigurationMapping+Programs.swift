import GraphCore
import RecordDecoding
import Yams

extension ConfigurationNode {
    /// Reads a jq program: its text, or `{file: PATH}`.
    func program(problems: inout ConfigurationProblems) -> RouteProgram? {
        guard case .mapping = node else {
            guard let text = requiredText(name: "jq", problems: &problems) else { return nil }
            return program(text, at: origin)
        }
        let mapping = ConfigurationMapping(self, what: "jq", keys: ["file"], problems: &problems)
        guard let path = mapping?.required("file", what: "jq", problems: &problems) else { return nil }
        switch ConfigurationLoader.contents(of: path) {
        case .success(let bytes):
            if let text = String(validating: bytes, as: UTF8.self) {
                return program(text.replacing("\r\n", with: "\n"), at: .file(path: path, line: 1, column: 1))
            }
            problems.add(.syntax, at: origin, "the program \(path) is not UTF-8", remedy: "Save it as UTF-8 text.")
        case .failure(let failure):
            problems.add(
                .unreadable, at: origin, "the program \(path) cannot be read: \(failure.reason)",
                remedy: "Check the path, which begins where the worker is started, and the file's permissions.")
        }
        return nil
    }

    private func program(_ text: String, at origin: ConfigurationOrigin) -> RouteProgram {
        var program = RouteProgram(text)
        program.place = ConfigurationPlace(origin)
        // The text of a block begins behind the line of its mark.
        let style = node.scalar?.style
        if style == .literal || style == .folded, case .file(let path, let line, _) = origin {
            program.place = ConfigurationPlace(.file(path: path, line: line + 1, column: 1))
        }
        return program
    }
}

extension ConfigurationMapping {
    /// The keys that say which records a route takes.
    private static let choosing: Set = ["topic", "type", "table", "headers", "where", "typeField"]
    /// The keys that say how the values of a program's events are written.
    private static let reading: Set = ["types", "dates", "zone"]

    /// Refuses keys that have no meaning beside a program.
    func refuseBesideProgram(_ keys: [String], problems: inout ConfigurationProblems) {
        refuse(
            keys, besides: Self.choosing.union(Self.reading).union(["filter", "jq"]), beside: "jq",
            remedy: "Remove it: the program itself makes the events.", problems: &problems)
    }

    /// Refuses keys that have no meaning beside an array of records.
    func refuseBesideEach(_ keys: [String], problems: inout ConfigurationProblems) {
        refuse(
            keys, besides: Self.choosing.union(["each"]), beside: "each",
            remedy: "Remove it: the routes take each element by itself.", problems: &problems)
    }

    private func refuse(
        _ keys: [String], besides known: Set<String>, beside name: String, remedy: String,
        problems: inout ConfigurationProblems
    ) {
        for key in keys where !known.contains(key) {
            guard let value = self[key] else { continue }
            problems.add(
                .invalidValue, at: value.origin, "\(key) stands beside \(name), where it has no meaning",
                remedy: remedy)
        }
    }
}
