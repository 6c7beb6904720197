import Foundation
import KafkaClient
import Testing

@testable import IngestCore

/// Every option, command and key that a text of the program or a page names is one that exists.
@Suite struct NamesTests {
    private struct Help: Decodable {
        struct Command: Decodable {
            struct Argument: Decodable {
                struct Name: Decodable {
                    let kind: String
                    let name: String
                }
                let names: [Name]?
            }
            let commandName: String
            let arguments: [Argument]?
            let subcommands: [Command]?
        }
        let command: Command
    }

    /// The options of each command, by its words.
    private static func commands() throws -> [String: Set<String>] {
        let help = try Program.run(["--experimental-dump-help"]).output
        var commands: [String: Set<String>] = [:]
        func add(_ command: Help.Command, _ path: [String]) {
            let names = (command.arguments ?? []).flatMap { $0.names ?? [] }.filter { $0.kind == "long" }
            commands[path.joined(separator: " ")] = Set(names.map(\.name))
            for next in command.subcommands ?? [] { add(next, path + [next.commandName]) }
        }
        add(try JSONDecoder().decode(Help.self, from: Data(help.utf8)).command, [])
        return commands
    }

    private struct Line {
        let place: String
        let text: Substring

        /// Whether the line has a character; a regular expression for each line of all sources would take long.
        func has(_ character: UInt8) -> Bool { text.utf8.contains(character) }
    }

    private static func lines(of folder: String, _ suffix: String) throws -> [Line] {
        let url = Program.root.appending(path: folder)
        let files = FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
        return try (files ?? []).filter { $0.pathExtension == suffix }.flatMap { file in
            try lines(ofFile: file)
        }
    }

    private static func lines(ofFile file: URL) throws -> [Line] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated().map { Line(place: "\(file.lastPathComponent):\($0 + 1)", text: $1) }
    }

    private static func pages() throws -> [Line] {
        try lines(of: "docs", "md") + lines(of: "samples", "md") + lines(of: "samples", "yaml")
            + lines(of: "config", "yaml") + lines(of: "Sources", "md")
            + lines(ofFile: Program.root.appending(path: "README.md"))
    }

    private static func sources() throws -> [Line] {
        try lines(of: "Sources", "swift").filter { !$0.text.drop { $0 == " " }.hasPrefix("//") }
    }

    @Test func `every option that a text names exists`() throws {
        let known = try Self.commands().values.reduce(into: Set<String>()) { $0.formUnion($1) }
        #expect(known.isSuperset(of: ["set", "allow-dead-letters", "rebuild"]))
        // 'Tests/Documentation/names' looks at the pages.
        for line in try Self.sources() where line.has(UInt8(ascii: "-")) {
            for match in line.text.matches(of: /(?:^|[^\w-])--([a-z][a-z-]*[a-z])/) {
                let option = String(match.1)
                #expect(known.contains(option), "\(line.place): --\(option)")
            }
        }
    }

    @Test func `every command that a text names exists and takes the options beside it`() throws {
        let commands = try Self.commands()
        let groups = Set(commands.keys.compactMap { $0.split(separator: " ").dropLast().joined(separator: " ") })
        for line in try Self.sources() + Self.pages() where line.has(UInt8(ascii: "-")) {
            for match in line.text.matches(of: /ingest-worker ([a-z][a-z-]*)(?: ([a-z][a-z-]+))?(?: ([a-z][a-z-]+))?/) {
                var path = String(match.1)
                #expect(commands[path] != nil, "\(line.place): \(path)")
                for next in [match.2, match.3].compactMap({ $0 }) where groups.contains(path) {
                    path += " \(next)"
                    #expect(commands[path] != nil, "\(line.place): \(path)")
                }
            }
        }
    }

    /// Names with the form of a key that are none: methods in examples, and the type of a notification.
    private static let otherNames: Set = ["store.read", "store.changed"]

    @Test func `every configuration key that a text names exists`() throws {
        let sources = try Self.sources().filter { $0.has(UInt8(ascii: "\"")) && $0.has(UInt8(ascii: ".")) }
        let known = Set(ConfigurationKey.known.map(\.path))
        let properties = Set(KafkaLibrary.propertyNames)
        // Codes of errors look like keys: each is a text of its own somewhere.
        let literals = Set(sources.flatMap { $0.text.matches(of: /"([a-z]\w*(?:\.\w+)+)"/).map { String($0.1) } })
        let sections = ConfigurationKey.sections.sorted().joined(separator: "|")
        let key = try Regex(
            "(?:^|[^\\w./-])((?:\(sections))(?:\\.[A-Za-z]\\w*)+)(?![\\w(/])", as: (Substring, Substring).self)
        func check(_ text: Substring, _ place: String) {
            for match in text.matches(of: key) {
                let name = String(match.1)
                let isProperty = name.hasPrefix("kafka.") && properties.contains(String(name.dropFirst(6)))
                #expect(
                    known.contains(name) || literals.contains(name) || isProperty || Self.otherNames.contains(name),
                    "\(place): \(name)")
            }
        }
        for line in try Self.pages() {
            for match in line.text.matches(of: /`([^`]+)`/) { check(match.1, line.place) }
        }
        for line in sources where !line.text.contains("store.read") {
            for match in line.text.matches(of: /"((?:[^"\\]|\\.)*)"/) {
                check(match.1[...].replacing(/\\\([^)]*\)+/, with: ""), line.place)
            }
        }
    }
}
