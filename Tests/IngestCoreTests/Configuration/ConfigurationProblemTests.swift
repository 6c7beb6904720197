import Testing

@testable import IngestCore

private func problems(
    _ yaml: String, _ settings: [String] = [], _ environment: [String: String] = [:]
) -> [ConfigurationProblem] {
    let error = #expect(throws: ConfigurationError.self) {
        try WorkerConfiguration.load(yaml: yaml, name: "w.yaml", settings: settings, environment: environment)
    }
    return error?.problems ?? []
}

@Suite("Configuration mistakes")
struct ConfigurationProblemTests {
    @Test
    func `every mistake is listed at once, each with its place`() {
        let list = problems(
            "chunk:\n  maxOperation: 5\n  maxBytes: many\nstor: {}\nhttp: { port: 70000 }\n",
            ["http.hots=x", "log.level=loud"], ["INGEST_STORE_PTAH": "x"])
        #expect(
            list.map(\.code) == [
                .unknownKey, .invalidValue, .unknownKey, .invalidValue, .unknownKey, .unknownKey, .invalidValue,
            ])
        #expect(
            list.map(\.origin.description) == [
                "w.yaml:2:3", "w.yaml:3:13", "w.yaml:4:1", "w.yaml:5:15", "environment INGEST_STORE_PTAH",
                "--set http.hots",
                "--set log.level",
            ])
        #expect(
            list.map(\.suggestion) == [
                "chunk.maxOperations", nil, "store", nil, "INGEST_STORE_PATH", "http.host", nil,
            ])
        #expect(list.allSatisfy { !$0.remedy.isEmpty })
        #expect(
            list[0].description == "w.yaml:2:3: unknown key \"chunk.maxOperation\"; did you mean "
                + "\"chunk.maxOperations\"? Remove it, or use a known key.")
        #expect(list[3].message.contains("a whole number from 0 to 65535"))
    }

    @Test
    func `dead-letter records larger than the client sends are refused`() throws {
        let kafka = "kafka: { message.max.bytes: 5999 }\n"
        let list = problems(kafka + "deadLetters: { topic: dead, maxBytes: 6000 }\n")
        #expect(list.map(\.code) == [.conflict] && list.map(\.origin.description) == ["w.yaml:2:39"])
        #expect(list[0].description.contains("deadLetters.maxBytes is 6000"))
        #expect(list[0].remedy.contains("Lower deadLetters.maxBytes to 5999 or less"))
        #expect(problems(kafka + "deadLetters: { topic: dead }\n").map(\.origin.description) == ["w.yaml:1:29"])
        for fitting in ["deadLetters: { topic: dead, maxBytes: 5999 }\n", "deadLetters: { maxBytes: 6000 }\n"] {
            _ = try WorkerConfiguration.load(yaml: kafka + fitting, name: "w.yaml", settings: [], environment: [:])
        }
    }

    @Test(arguments: [
        ("a: [1\nb: 2\n", 2), ("store:\n\tpath: x\n", 2), ("a: \"x\n", 2), ("x: &a\ny: *b\n", 2),
        ("a: 1\n---\nb: 2\n", 2),
        ("topics: @x\n", 1), ("author: a\u{1}b\n", 1),
    ])
    func `a text that is not YAML is refused with its line`(yaml: String, line: Int) {
        let list = problems(yaml)
        #expect(list.first?.code == .syntax)
        guard case .file("w.yaml", let found, _) = list.first?.origin else {
            Issue.record("no place in the file")
            return
        }
        #expect(found == line)
    }

    @Test
    func `a key that stands twice is refused`() {
        let list = problems("store: {path: a}\nhttp: {port: 1,\n port: 2}\n")
        #expect(list.map(\.code) == [.duplicateKey])
        #expect(list.first?.message.contains("port") == true)
        #expect(list.first?.origin == .file(path: "w.yaml", line: 2, column: 8))
        #expect(problems("", [], ["INGEST_HTTP_PORT": "1", "INGEST_HTTPPORT": "2"]).first?.code == .conflict)
    }

    @Test(arguments: [
        "- a\n", "text", "store: data.sqlite", "store: [1]", "store: {path: }", "store: {path: ''}",
        "store: {path: [a]}",
        "topics: {a: b}", "topics: [[a]]", "topics: [{format: json}]", "topics: [{name: a, format: xml}]",
        "topics: [{name: a, routes: [{verb: upsert}]}]",
        "topics: [{name: a, routes: [{entity: A, identity: $line}]}]",
        "topics: [{name: a, routes: [{entity: A, dates: rfc822}]}]", "topics: [{name: a, routes: {entity: A}}]",
        "topics: [{name: a, routes: [{entity: A, constants: {x: [1]}}]}]", "files: x", "files: [{routes: []}]",
        "http: {enabled: maybe}", "http: {port: 80.5}", "limits: {maxDepth: 0}", "kafka: {sasl: {username: x}}",
        "kafka: {group.id: }", "store.path: x", "? [a]\n: b", "kafka: {onpositionlost: halt}",
        "kafka: {onPositionLost: newest}", "chunk: {maxOperations: 99999999999999999999}",
    ])
    func `wrong types are refused`(yaml: String) {
        let list = problems(yaml)
        #expect(list.count == 1)
        #expect(list.first?.code != .syntax)
    }

    @Test
    func `keys inside routes are checked, with a suggestion`() {
        let list = problems("topics:\n  - name: a\n    routes:\n      - {entitty: A, entity: A}\n")
        #expect(list.map(\.suggestion) == ["entity"])
        #expect(list.first?.origin == .file(path: "w.yaml", line: 4, column: 10))
    }

    @Test
    func `the worker may not read what it writes`() {
        #expect(problems("topics: [ingest.changes]").map(\.code) == [.conflict])
        #expect(problems("topics: [a]\ndeadLetters: {topic: a}").first?.origin.description == "w.yaml:2:22")
        #expect(problems("topics: [a, b, a]").map(\.code) == [.conflict])
        let both = problems("topics: [a]\nnotifications: {topic: n}\ndeadLetters: {topic: n}")
        #expect(both.map(\.code) == [.conflict] && both[0].message.contains("notifications.topic are both \"n\""))
    }

    @Test
    func `a pattern is no topic`() {
        let list = problems("topics: [\"^ev.*\"]")
        #expect(list.map(\.code) == [.invalidValue] && list[0].message.contains("is a pattern"))
    }

    @Test
    func `a file may begin with a byte order mark`() throws {
        let folder = TestFolder()
        let path = folder.write("w.yaml", "\u{FEFF}topics: [a]\n")
        #expect(try WorkerConfiguration.load(file: path).configuration.topics.map(\.name) == ["a"])
    }

    @Test
    func `flags without a value are refused, and what follows the name is not shown`() {
        let list = problems("", ["kafka.sasl.password:hunter2", "=x", ""])
        #expect(list.count == 3)
        #expect(!list.description.contains("hunter2"))
        #expect(list.first?.origin == .flag(key: "kafka.sasl.password"))
    }

    @Test
    func `variables that mean nothing are refused`() {
        let list = problems(
            "", [], ["INGEST_": "hunter2", "INGEST_KAFKA_": "hunter2", "INGEST_NONSENSE_AT_ALL": "hunter2"])
        #expect(list.map(\.code) == [.unknownKey, .unknownKey, .unknownKey])
        #expect(list.last?.suggestion == nil)
        #expect(!list.description.contains("hunter2"))
    }

    @Test
    func `no message shows a secret`() {
        let list = problems(
            "kafka:\n  sasl.password: [hunter2]\n  pasword: x\nhunter.password: hunter2\n",
            ["http.password=hunter2", "topics=[hunter2"], ["INGEST_SASL_PASSWORD": "hunter2"])
        #expect(list.count == 5)
        #expect(!ConfigurationError(problems: list).description.contains("hunter2"))
    }
}
