import ObjectGraph
import Testing

@testable import GraphCore
@testable import GraphModel

@Suite struct JSONSyntaxTests {
    @Test(arguments: [
        "{}", "[]", " [ 1 , -0.5e+3, 1E-2 ] ", "null", "true", "false", "0", "\"a\\u00e9\\n\\/\"",
        "{\"a\":{\"b\":[[],{}]},\"c\":\"d\"}",
        String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000),
    ])
    func `JSON is JSON`(_ text: String) { #expect(JSONSyntax.isValid(text)) }

    @Test(arguments: [
        "", " ", "{", "}", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "01", "1.", ".5", "-", "+1", "1e",
        "nul",
        "truee", "'a'", "\"a", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "[1] 2", "NaN", "[}", "{]", "\u{FEFF}1",
        String(repeating: "[", count: 1001) + String(repeating: "]", count: 1001),
    ])
    func `a text that is no JSON is refused`(_ text: String) { #expect(!JSONSyntax.isValid(text)) }
}
