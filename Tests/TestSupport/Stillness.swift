import Foundation

/// Notices that nothing moves any more, and so never ends a wait on a machine that is merely slow.
///
/// Time counts only while no thread of this process or of a process below it runs, or waits for a processor or a disk.
/// Progress of a watched value starts the count again.
public struct Stillness {
    /// The longest timer that a test waits for, such as a session's end or a back-off, takes a fraction of this.
    private static let limitSeconds = 120.0
    /// The time between two looks. A caller may look seldom, and after a machine was suspended the time counts little.
    private static let secondsBetweenLooks = 0.2

    private var lastLook = ContinuousClock.now
    private var stillSeconds = 0.0
    private var progress: AnyHashable?

    /// Begins to count.
    public init() {}

    /// Looks whether something has moved, and tells whether nothing has for too long.
    public mutating func isTooLong() -> Bool { isTooLong(watching: nil) }

    /// Looks whether something has moved, and tells whether nothing has for too long.
    ///
    /// - Parameter progress: a value that changes with each progress; it is asked for with each look.
    mutating func isTooLong(watching progress: @autoclosure () throws -> AnyHashable?) rethrows -> Bool {
        let now = ContinuousClock.now
        let elapsed = (now - lastLook) / .seconds(1)
        guard elapsed >= Self.secondsBetweenLooks else { return false }
        lastLook = now
        let present = try progress()
        if present != self.progress {
            self.progress = present
            stillSeconds = 0
        }
        let own = ProcessInfo.processInfo.processIdentifier
        if !Self.somethingMoves(in: own) { stillSeconds += min(elapsed, 5 * Self.secondsBetweenLooks) }
        return stillSeconds > Self.limitSeconds
    }

    /// The words for the limit.
    static let description = "nothing moved for \(Int(limitSeconds)) s"

    /// Whether a thread of a process but the present one, or of a process below it, is at work or would be.
    public static func somethingMoves(in process: Int32) -> Bool {
        // A link such as `123/task/124`.
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
        let children = Self.children()
        var processes = [process]
        while let process = processes.popLast() {
            for task in entries("/proc/\(process)/task") where !own.hasSuffix("/task/\(task)") {
                if ["R", "D"].contains(statistics("/proc/\(process)/task/\(task)").first) { return true }
            }
            processes += children[process] ?? []
        }
        return false
    }

    /// The processes below each process. Not every kernel lists them with their parent.
    private static func children() -> [Int32: [Int32]] {
        var children: [Int32: [Int32]] = [:]
        for process in entries("/proc").compactMap({ Int32($0) }) {
            guard let parent = statistics("/proc/\(process)").dropFirst().first.flatMap({ Int32($0) }) else { continue }
            children[parent, default: []].append(process)
        }
        return children
    }

    /// The fields behind the name of a process or a thread, which may have parentheses itself: state, parent and others.
    private static func statistics(_ folder: String) -> [Substring] {
        let text = text("\(folder)/stat")
        guard let end = text.lastIndex(of: ")") else { return [] }
        return text[end...].dropFirst().split(separator: " ")
    }

    private static func entries(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    private static func text(_ path: String) -> String {
        // A thread may end between two reads.
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}
