import Foundation
import GraphCore

/// The audit entry of a command that writes the store itself, without a worker.
///
/// It is saved as unfinished before the command writes, so the audit also has a command that was killed.
package struct CommandAudit {
    private let writer: WriterContext
    private var entry: AuditEntry

    /// Saves that a command begins.
    ///
    /// - Parameters:
    ///   - action: the command, such as `verify --repair`.
    ///   - arguments: a JSON object.
    ///   - began: when the command began, in microseconds since 1970 UTC.
    /// - Throws: `StoreError`.
    package init(
        _ action: String, _ arguments: String, began: Int64 = WriterContext.systemTime(), writer: WriterContext
    ) throws {
        self.writer = writer
        let actor = ControlPeer(process: getpid(), user: geteuid()).actor
        entry = AuditEntry(time: began, actor: actor, action: action, request: arguments)
        entry.id = try save(AuditEntry.outcome(.unfinished, at: WriterContext.systemTime()))
    }

    /// Saves the entry of a command that has put another store in the place of the configured one.
    ///
    /// - Parameters: as of ``init(_:_:began:writer:)`` and ``end(result:)``.
    /// - Throws: `StoreError`.
    package static func note(
        _ action: String, _ arguments: String, result: String, began: Int64, in configuration: WorkerConfiguration,
        model: ObjectModel
    ) throws {
        let store = try configuration.openStore(model: model)
        let writer = try WriterContext(store: store, options: configuration.writerOptions)
        try CommandAudit(action, arguments, began: began, writer: writer).end(result: result)
        try writer.close()
    }

    /// Saves that the command is done.
    ///
    /// - Parameter result: a JSON object.
    /// - Throws: `StoreError`.
    package func end(result: String) throws {
        _ = try save(AuditEntry.outcome(.done, at: WriterContext.systemTime(), result: result))
    }

    /// Saves why the command failed. Where the store takes no entry, its own failure is graver.
    package func fail(_ error: any Error) {
        let error = ControlError(error)
        _ = try? save(
            AuditEntry.outcome(.failed, at: WriterContext.systemTime(), code: error.code, message: error.message))
    }

    private func save(_ outcome: String) throws -> Int64 {
        var saved = entry
        saved.result = outcome
        return try writer.inOneCommit { try writer.put(saved) }
    }
}
