import TestSupport
import Testing

@testable import GraphModel

@Suite struct ValueHashTests {
    @Test func `equal values have equal hashes, however their texts are stored`() {
        var random = SeededRandom.forTest("ValueHashTests")
        for length in 0..<80 {
            let bytes = (0..<length).map { _ in UInt8(0x20 + random.number(below: 0x5F)) }
            let text = String(decoding: bytes, as: UTF8.self)
            let sliced = String(("x" + text + "y").dropFirst().dropLast())
            for seed in [0, 7, -1] {
                #expect(Value.text(text)._rawHashValue(seed: seed) == Value.text(sliced)._rawHashValue(seed: seed))
            }
            #expect(Value.text(text).hashValue == Value.text(sliced).hashValue)
            #expect(Value.blob(bytes).hashValue == Value.blob(Array(bytes)).hashValue)
        }
        #expect(Value.double(0) == .double(-0.0) && Value.double(0).hashValue == Value.double(-0.0).hashValue)
    }

    @Test func `spellings that Unicode holds to be equal are two identities`() {
        let identities: [Value: Int] = [.text("caf\u{E9}"): 1, .text("cafe\u{301}"): 2]
        #expect(identities.count == 2)
        #expect(identities[.text("caf\u{E9}")] == 1 && identities[.text("cafe\u{301}")] == 2)
    }

    /// Each byte, the length, the form and the seed count: identities that differ little do not meet.
    @Test func `values that differ little have hashes that differ in their low bits as chance has it`() {
        var values: [Value] = (0..<4096).map { .integer(Int64($0)) }
        values += (0..<4096).map { .text("0193c0de-1234-7123-8123-\($0 + 100_000_000)") }
        values += (0..<4096).map { .text("\($0)-0193c0de-1234-7123") } + (0..<400).map { .text("\($0)") }
        values += (0..<64).map { .text(String(repeating: "a", count: $0)) }
        values += (0..<64).map { .blob(Array(repeating: 0, count: $0)) }
        for seed in [0, 1, 12_345] {
            let full = Set(values.map { $0._rawHashValue(seed: seed) })
            #expect(full.count >= values.count - 2)
            let low = Dictionary(grouping: values, by: { $0._rawHashValue(seed: seed) & 1023 })
            // About 13 values a place: 60 in one would be no chance.
            #expect(low.values.map(\.count).max() ?? 0 < 60 && low.count > 1000)
        }
    }

    @Test func `a table finds and forgets what was put into it`() {
        var random = SeededRandom.forTest("ValueHashTests")
        var table: [Value: Int] = [:]
        let values = (0..<2000).map { number -> Value in
            number % 3 == 0 ? .integer(Int64(number)) : .text(String(repeating: "i", count: number % 40) + "\(number)")
        }
        for (number, value) in values.enumerated() { table[value] = number }
        for number in values.indices.shuffled(using: &random).prefix(1000) { table[values[number]] = nil }
        #expect(table.count == 1000)
        for (value, number) in table { #expect(values[number] == value) }
    }
}
