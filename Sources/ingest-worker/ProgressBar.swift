import Foundation
import IngestCore

/// A line on the terminal that shows how far a replay is.
final class ProgressBar {
    private let isShown: Bool
    private var hasDrawn = false

    init(isShown: Bool) { self.isShown = isShown }

    func show(_ progress: ReplayEngine.Progress) {
        guard isShown else { return }
        hasDrawn = true
        let name = URL(fileURLWithPath: progress.path).lastPathComponent
        var line = "\(progress.records) records"
        if let total = progress.totalBytes, total > 0 {
            let share = min(1, Double(progress.bytesRead) / Double(total))
            let filled = Int(share * 30)
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
            line = "\(bar) \(Int(share * 100)) %  \(line)"
        }
        try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K\(name)  \(line)".utf8))
    }

    func finish() {
        if hasDrawn { try? FileHandle.standardError.write(contentsOf: Data("\n".utf8)) }
    }
}
