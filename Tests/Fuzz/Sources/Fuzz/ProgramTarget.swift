import CJqOracle

@testable import IngestCore

/// jq programs of routes: refused with a reason and a line, or jq itself finds nothing in them that is refused.
struct ProgramTarget: FuzzTarget {
    /// The functions of jq's own that the refused ones lead to.
    private let names = "," + (JQTokenizer.refusedFunctions + ["_input"]).joined(separator: ",") + ","

    func take(_ bytes: UnsafeRawBufferPointer) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        do {
            _ = try JQTokenizer(text)
        } catch {
            if error.message.isEmpty { throw Broken("a refusal without words") }
            if error.line < 1 || error.line > text.utf8.count(where: { $0 == 0x0A }) + 1 {
                throw Broken("a refusal of a line that is not there: \(error.line)")
            }
            return
        }
        // As a route has it: the program cannot leave its brackets.
        if jq_oracle_finds(". as [$key]|$key|(\(text)\n)", names) != 0 { throw Broken("jq finds what was not refused") }
    }
}
