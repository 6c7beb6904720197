import GraphCore

/// Why a request to a store's writer was refused, or came to nothing.
package struct ControlError: CodedError, Equatable {
    /// The codes of the control channel itself; the raw values are stable.
    package enum Kind: String, Sendable, CaseIterable {
        /// The line is no request, or no answer.
        case malformed = "control.malformed"
        /// The request is longer than the channel takes.
        case tooLong = "control.too_long"
        /// The other end speaks another version.
        case version = "control.version"
        /// The worker does not know the request, or one of its arguments.
        case unknown = "control.unknown"
        /// The other end is neither root nor the worker's user.
        case forbidden = "control.forbidden"
        /// The worker writes another store than the one that is meant.
        case otherStore = "control.other_store"
        /// The worker has other topics, routes, limits, or another model.
        case configuration = "control.configuration"
        /// The worker itself moves the cursor.
        case cursorInUse = "control.cursor_in_use"
        /// The history has no such token.
        case token = "control.token"
        /// The store's disk failed: nothing is written before it is verified.
        case suspect = "control.suspect"
        /// Too many clients at once.
        case busy = "control.busy"
        /// The worker ends, and has not begun with the request.
        case ending = "control.ending"
        /// The worker ended or failed while it carried the request out.
        case interrupted = "control.interrupted"
        /// The request did not arrive in time.
        case late = "control.late"
        /// The worker does not answer.
        case silent = "control.silent"
        /// The idempotency key stands for another request.
        case keyReused = "control.key_reused"
        /// The client went away, and the request ended after its step.
        case abandoned = "control.abandoned"
        /// There is no folder for backups.
        case noBackupFolder = "control.no_backup_folder"
        /// The socket cannot be made or used.
        case unavailable = "control.unavailable"
    }

    /// A stable code: one of ``Kind``, or the code of the store's own error.
    package let code: String
    /// The failure, without any value of a record.
    package let message: String
    /// The remedy.
    package let remedy: String
    /// Whether the same request may succeed later.
    package let isRetriable: Bool

    init(code: String, message: String, remedy: String, isRetriable: Bool) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.isRetriable = isRetriable
    }

    init(_ code: Kind, _ message: String, remedy: String) {
        let retriable: Set<Kind> = [.busy, .ending, .interrupted, .late, .silent]
        self.init(
            code: code.rawValue, message: message, remedy: remedy, isRetriable: retriable.contains(code))
    }

    /// Makes the answer to a request of whatever it failed with.
    init(_ error: any Error) {
        switch error {
        case let error as ControlError: self = error
        case let error as any CodedError:
            self.init(
                code: error.stableCode, message: error.message, remedy: error.remedy,
                isRetriable: error.isRetriable)
        default:
            self.init(
                .interrupted, "The worker failed while it carried the request out",
                remedy: "See its log; what was committed stays. Run the command again")
        }
    }

    static func malformed(_ reason: String) -> ControlError {
        ControlError(
            .malformed, "The line is none of the control channel: \(reason)",
            remedy: "Use the commands of the program that the worker runs")
    }

    package static let tooLong = ControlError(
        .tooLong, "The request has more than \(ControlLine.maximumBytes) bytes",
        remedy: "Name fewer numbers at a time, or use conditions such as --topic and --code")
    package static let tooManyRequests = ControlError(
        .busy, "Too many administrative requests are under way", remedy: "Try again when one of them has ended")
    static let busyReading = ControlError(
        .busy, "Another verification, backup or export is under way", remedy: "Try again when it has ended")
    static let keyReused = ControlError(
        .keyReused, "The idempotency key stands for another request already",
        remedy: "Take a new key for each request, and repeat a request with its own")
    static let abandoned = ControlError(
        .abandoned, "The client went away before the end", remedy: "Run the command again; what was committed stays")
    static let noBackupFolder = ControlError(
        .noBackupFolder, "There is no folder for backups",
        remedy: "Set backup.folder, or name a file: ingest-worker backup FILE")
    static let ending = ControlError(
        .ending, "The worker ends, and has not begun with the request", remedy: "Run the command again")
    package static let interrupted = ControlError(
        .interrupted, "The worker ended while it carried the request out",
        remedy: "Run the command again; what was committed stays")
}
