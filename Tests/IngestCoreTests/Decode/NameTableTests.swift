import TestSupport
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct NameTableTests {
    private func find<Element>(_ name: String, in table: NameTable<Element>) -> Element? {
        Array(name.utf8).withUnsafeBufferPointer { table[utf8: $0] }
    }

    @Test func `names are found by their bytes and as strings`() {
        var random = SeededRandom.forTest("NameTableTests")
        var table = NameTable<Int>()
        var expected: [String: Int] = [:]
        for number in 0..<500 {
            let letters: [Character] = ["a", "b", "é", "日"]
            let name = String((0..<random.number(below: 30)).map { _ in letters[random.number(below: 4)] })
            table[name] = number
            expected[name] = number
        }
        #expect(table.count == expected.count)
        for (name, number) in expected {
            #expect(find(name, in: table) == number && table[name] == number)
            #expect(find(name + "x", in: table) == expected[name + "x"])
        }
        #expect(table.sorted.map(\.name) == expected.keys.sorted())
    }

    @Test func `an empty table holds nothing, the empty name either`() {
        #expect(find("", in: NameTable<Int>()) == nil && find("a", in: NameTable<Int>()) == nil)
        var table = NameTable(["": 1])
        #expect(find("", in: table) == 1)
        table["a"] = nil
        #expect(table.count == 1)
    }

    @Test func `other spellings of a name are the name`() {
        let table = NameTable(["caf\u{E9}": 1])
        #expect(
            find("cafe\u{301}", in: table) == 1 && find("caf\u{E9}", in: table) == 1 && find("cafe", in: table) == nil)
    }
}
