import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct JQTokenizerTests {
    private func refusal(_ program: String) -> JQTokenizer.Refusal? {
        caught(JQTokenizer.Refusal.self) { try JQTokenizer(program) }
    }

    @Test(arguments: [
        "env", "$ENV", "$ ENV.PATH", "input", "[inputs]", "now", ".a|now", "now|todate", "localtime",
        "strflocaltime(\"%c\")",
        "debug", "stderr", "halt", "\"x\"|halt_error", "halt_error(1)", "input_filename", "input_line_number",
        "modulemeta",
        "get_search_list", "import \"a\" as a; .", "include \"a\"; .", "module {}; .", "a::b", "[.[]|now]", "{a: now}",
        "{(now|tostring): 1}", "{\"\\(now)\": 1}", "\"a \\(\"b \\(now)\") c\"", "@json \"x\\(env)\"", "def f: now; f",
        "def now: 1; now", "reduce inputs as $x (0; .)", ". as {a: $x} | env", "1 # \"\n|now", "..|now", ".[now]",
        "{a:1, b:debug}", "if now then 1 else 2 end", "{now|1}", "{$ENV}", "1.5e3|now", ".a?//now", "now::x",
    ])
    func `what looks beyond the record is refused`(_ program: String) {
        #expect(refusal(program) != nil)
    }

    @Test(arguments: [
        ".", ".now", ".env.input", "{now: 1}", "{now}", "{a: 1, env: 2, input}", "{\"now\": 1}", "\"now env input\"",
        "\"\\\\\\\"now\"", "# now\n.", ".a # $ENV \"", "$now", ". as $env | $env", "$__loc__", "getpath([\"now\"])",
        "[limit(3; .[])]",
        "[splits(\", *\")]", "\"a\\(.b)c\\(.d)\"", ". as {now: $x} | $x", ".[\"env\"]", "@base64 \"x\\(.a)\"",
        ".a.b?//.c",
        "def nowhere: 1; nowhere", "gmtime|mktime", "{a: (.b, .c)}", "1.|.5e3|1e+2", ".\"now\"",
        "try error(\"now\") catch .",
        "{import: 1}.import", "reduce .[] as [$a, {b: $c}] (0; . + $c)", "label $out | break $out", "..",
    ])
    func `what depends on the record alone is taken`(_ program: String) {
        #expect(refusal(program) == nil)
    }

    @Test func `a refusal names the line`() {
        #expect(refusal(".a\n| .b # now\n| \"x\ny\" | now")?.line == 4)
        #expect(refusal("{\n  now\n  | 1}")?.line == 2)
    }

    @Test(arguments: [
        (".)|(.", "closes nothing"), ("(.", "open"), ("[.}", "closes nothing"), ("\"a", "no end"), ("\"a\\(1", "open"),
        ("", "empty"), ("# only words", "empty"), (" \n", "empty"), (".\u{0}", "control"),
        ("# a\r|now", "carriage return"),
    ])
    func `a program that could leave its place is refused`(_ program: String, _ reason: String) throws {
        #expect(try #require(refusal(program)).message.contains(reason))
    }

    @Test func `deep nesting is refused, and not followed`() throws {
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(try #require(refusal(deep)).message.contains("deeper"))
        let texts = String(repeating: "\"\\(", count: 100_000)
        #expect(try #require(refusal(texts)).message.contains("deeper"))
    }

    @Test func `texts without interpolation are known`() throws {
        let tokens = try JQTokenizer("error(\"no id\") , \"a\\(1)b\" , \"c\\n\" , \"\"")
        #expect(tokens.literals == ["no id", ""])
    }
}
