import Foundation

/// A file that says how far many lives have come, so that the next command goes on where the last one ended.
///
/// A line has what happened in a row of lives: `lived SEED LIVES STEPS RECORDS SECONDS`, or `failed SEED`.
package struct Night {
    private let path: String
    /// Everything that the file has.
    package private(set) var tally = Tally()
    /// The seeds of the lives that failed.
    package private(set) var failedSeeds: [UInt64] = []
    /// The seed behind the last life; nil before the first.
    package private(set) var nextSeed: UInt64?

    /// Reads the file, where there is one. A line that a kill cut off does not count.
    package init(path: String) {
        self.path = path
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        // A whole line has its end.
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() { note(String(line)) }
    }

    /// Appends lives that began with a seed.
    package mutating func add(_ lived: Tally, from seed: UInt64, isFailed: Bool) throws {
        let line = "lived \(seed) \(lived.lives) \(lived.steps) \(lived.records) \(lived.seconds)"
        let failed = isFailed ? ["failed \(seed &+ lived.lives &- 1)"] : []
        guard let file = fopen(path, "a") else { throw CocoaError(.fileWriteUnknown) }
        defer { fclose(file) }
        for line in [line] + failed {
            fputs(line + "\n", file)
            note(line)
        }
    }

    private mutating func note(_ line: String) {
        let words = line.split(separator: " ")
        guard words.count >= 2, let seed = UInt64(words[1]) else { return }
        if words[0] == "failed" { failedSeeds.append(seed) }
        guard words[0] == "lived", words.count == 6, let lives = UInt64(words[2]), let steps = Int(words[3]),
            let records = Int(words[4]), let seconds = Double(words[5])
        else { return }
        tally.lives += lives
        tally.steps += steps
        tally.records += records
        tally.seconds += seconds
        nextSeed = seed &+ lives
    }
}
