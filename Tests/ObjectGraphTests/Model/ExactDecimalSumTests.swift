import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct ExactDecimalSumTests {
    private static func sum(_ terms: [String]) -> ExactDecimalSum {
        var sum = ExactDecimalSum()
        for term in terms { sum.add(term) }
        return sum
    }

    @Test(
        arguments: [
            ([], "0"), (["0"], "0"), (["0.1", "0.2"], "0.3"), (["12", "-12.5"], "-0.5"), (["-0.001"], "-0.001"),
            (["999999999999999999", "1"], "1000000000000000000"),
            (["-1000000000000000000", "1"], "-999999999999999999"),
            (["10000000000000000000000000000", "0.00000001"], "10000000000000000000000000000.00000001"),
            (["5", "-5"], "0"), (["100", "20"], "120"),
        ] as [([String], String)])
    func `sum is what paper says`(_ terms: [String], _ expected: String) {
        #expect(Self.sum(terms).text == expected)
        #expect(Self.sum(terms).isExact)
        #expect(Self.sum(terms.reversed()).text == expected)
        #expect(Self.sum(terms).isZero == (expected == "0"))
    }

    @Test func `more than 38 digits are rounded to the even digit once`() {
        let great = "1" + String(repeating: "0", count: 37)
        #expect(Self.sum([great, "0.5"]).text == great)
        #expect(!Self.sum([great, "0.5"]).isExact)
        #expect(Self.sum([great, "1.5"]).text == "1" + String(repeating: "0", count: 36) + "2")
        #expect(Self.sum([great, "0.5", "-0.4", "-\(great)"]).text == "0.1", "nothing is lost on the way")
        #expect(Self.sum([String(repeating: "9", count: 38), "0.7"]).text == "1" + String(repeating: "0", count: 38))
    }

    @Test func `beyond the greatest decimal stays at the bound`() {
        let greatest = String(repeating: "9", count: 38) + String(repeating: "0", count: 127)
        #expect(Self.sum([greatest, greatest]).text == greatest)
        #expect(Self.sum(["-\(greatest)", "-\(greatest)"]).text == "-\(greatest)")
        #expect(Self.sum([greatest, greatest, "-\(greatest)"]).text == greatest)
    }

    @Test func `random terms give the same in any order`() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            let terms = (0..<20).map { _ in
                let sign = random.chance(50) ? "-" : ""
                return
                    "\(sign)\(Int64.random(in: 0...Int64.max, using: &random)).\(Int.random(in: 1...9, using: &random))"
            }
            let cancelled = terms + terms.map { $0.hasPrefix("-") ? String($0.dropFirst()) : "-\($0)" }
            #expect(Self.sum(cancelled.shuffled(using: &random)).text == "0")
            #expect(Self.sum(terms.shuffled(using: &random)).text == Self.sum(terms).text)
        }
    }
}
