import ObjectGraph
import Testing

@testable import IngestCore

@Suite struct NamePatternTests {
    @Test(arguments: [
        ("work-orders.csv", "work-orders.csv"), ("*", ""), ("*", "anything"), ("*.csv", "a.csv"), ("*.csv", ".csv"),
        ("?.csv", "a.csv"), ("?.csv", "é.csv"), ("messages-*.jsonl", "messages-2026-01.jsonl"), ("a*b*c", "aXbYbZc"),
        ("a**b", "ab"),
        ("*a*", "bab"), ("*.jsonl*", "x.jsonl.gz"), ("", ""), ("a?*", "ab"),
    ])
    func `a pattern matches the names that it describes`(pattern: String, name: String) {
        #expect(TextPatterns.matches(name, like: pattern))
    }

    @Test(arguments: [
        ("work-orders.csv", "work-orders_csv"), ("*.csv", "a.csv.gz"), ("?.csv", ".csv"), ("?.csv", "ab.csv"),
        ("a*b*c", "aXbY"),
        ("", "a"), ("a", ""), ("a?*", "a"), ("A.csv", "a.csv"), ("[ab].csv", "a.csv"), ("*a", "ab"),
    ])
    func `does not match`(pattern: String, name: String) {
        #expect(!TextPatterns.matches(name, like: pattern))
    }

    @Test func `many stars take no long time`() {
        let pattern = String(repeating: "*a", count: 40) + "b"
        #expect(!TextPatterns.matches(String(repeating: "a", count: 2000), like: pattern))
    }

    @Test func `the first mapping that matches wins`() {
        var configuration = WorkerConfiguration()
        configuration.files = [
            FileConfiguration(match: "*.jsonl", format: .json), FileConfiguration(match: "a.*", format: .cloudevents),
        ]
        #expect(configuration.fileMapping(for: "/some/folder/a.jsonl")?.match == "*.jsonl")
        #expect(configuration.fileMapping(for: "a.csv")?.match == "a.*")
        #expect(configuration.fileMapping(for: "a/b.csv") == nil)
    }

    @Test func `a pattern with folders looks at as many folders`() {
        var configuration = WorkerConfiguration()
        configuration.files = [FileConfiguration(match: "general/*.json"), FileConfiguration(match: "*/x/*.json")]
        #expect(configuration.fileMapping(for: "/export/general/2026-01-02.json")?.match == "general/*.json")
        #expect(configuration.fileMapping(for: "/export/x/2026-01-02.json")?.match == "*/x/*.json")
        #expect(configuration.fileMapping(for: "/export/general/old/2026-01-02.json") == nil)
    }
}
