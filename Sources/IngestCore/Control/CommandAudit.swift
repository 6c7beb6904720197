import Foundation
import ObjectGraph

extension WriterContext {
    /// Saves an audit entry of a command that has written the store itself, without a worker.
    ///
    /// - Parameters:
    ///   - action: the command, such as `verify --repair`.
    ///   - arguments: a JSON object.
    ///   - began: when the command began, in microseconds since 1970 UTC.
    ///   - result: a JSON object.
    /// - Throws: `StoreError`.
    package func noteCommand(_ action: String, _ arguments: String, began: Int64, result: String) throws {
        let actor = ControlPeer(process: getpid(), user: geteuid()).actor
        var entry = AuditEntry(time: began, actor: actor, action: action, request: arguments)
        entry.result = AuditEntry.outcome(.done, at: Self.systemTime(), result: result)
        try inOneCommit { _ = try put(entry) }
    }
}
