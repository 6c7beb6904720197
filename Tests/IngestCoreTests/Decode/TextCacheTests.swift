import TestSupport
import Testing

@testable import RecordDecoding

@Suite struct TextCacheTests {
    @Test func `a text comes as its bytes say, whatever was asked before`() {
        var random = SeededRandom.forTest("TextCacheTests")
        let cache = TextCache()
        for _ in 0..<20_000 {
            let letters: [Character] = ["a", "b", "é", "日"]
            let length = random.number(below: 40)
            let text = String((0..<length).map { _ in letters[random.number(below: length < 17 ? 4 : 2)] })
            Array(text.utf8).withUnsafeBufferPointer { bytes in
                #expect(cache.text(bytes).utf8.elementsEqual(text.utf8))
                #expect(cache.text(bytes).utf8.elementsEqual(text.utf8))
            }
        }
    }
}
