import Foundation
import IngestCore

/// A line on the terminal that shows how far a replay is.
final class ProgressBar {
    private let isShown: Bool
    private var hasDrawn = false

    init(isShown: Bool) { self.isShown = isShown }

    func show(_ progress: ReplayEngine.Progress) {
        let share = progress.totalBytes.map { Double(progress.bytesRead) / Double(max(1, $0)) }
        show(URL(fileURLWithPath: progress.path).lastPathComponent, records: progress.records, share: share)
    }

    func show(_ progress: TopicReplay.Progress) {
        let share = progress.total > 0 ? Double(progress.passed) / Double(progress.total) : nil
        show(progress.topic, records: progress.records, share: share)
    }

    private func show(_ name: String, records: Int, share: Double?) {
        guard isShown else { return }
        hasDrawn = true
        var line = "\(records) records"
        if let share = share.map({ min(1, $0) }) {
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
