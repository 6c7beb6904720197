import GraphCore
import RecordDecoding

/// A line that the worker answers with. The last one is a result or a failure.
package enum ControlAnswer: Sendable, Equatable {
    /// The request has arrived, and is waiting or under way.
    case waiting
    /// A line for the person who asks.
    case note(String)
    /// How far a request is.
    case step(StoreStep)
    /// The result of a request.
    case result(ControlResult)
    /// Why nothing, or no more, was done.
    case failure(ControlError)

    /// Whether nothing follows.
    var isLast: Bool {
        switch self {
        case .waiting, .note, .step: false
        case .result, .failure: true
        }
    }

    var line: [UInt8] {
        switch self {
        case .waiting: ControlLine.text(["answer": "waiting"])
        case .note(let text): ControlLine.text(["answer": "note", "text": text])
        case .step(let step): step.line
        case .result(let result): ControlLine.text(["answer": "result", "result": result])
        case .failure(let error):
            ControlLine.text([
                "answer": "failure", "code": error.code, "message": error.message, "remedy": error.remedy,
                "retriable": error.isRetriable,
            ])
        }
    }

    /// Reads a line; answers of kinds that a newer worker may have are taken for `waiting`.
    ///
    /// - Throws: ``ControlError``.
    init(line: [UInt8], to request: ControlRequest) throws {
        self = try ControlLine.read(line) { root in
            switch root.member("answer")?.string {
            case "note": .note(root.member("text")?.string ?? "")
            case "step": StoreStep(root).map { .step($0) } ?? .waiting
            case "result": .result(try ControlResult(root.member("result"), of: request))
            case "failure":
                .failure(
                    ControlError(
                        code: root.member("code")?.string ?? "", message: root.member("message")?.string ?? "",
                        remedy: root.member("remedy")?.string ?? "",
                        isRetriable: root.member("retriable")?.bool ?? false))
            case nil: throw ControlError.malformed("'answer' is missing")
            default: .waiting
            }
        }
    }
}

/// The outcome of a request.
package enum ControlResult: JSONWritable, Sendable, Equatable {
    /// Dead letters were tried again.
    case retried(DeadLetterRetry.Summary)
    /// So many dead letters were removed.
    case dropped(Int)
    /// History was removed.
    case purged(PurgeResult)
    /// The purges that were held go on; nil where none were.
    case purgesConfirmed(HeldPurges?)
    /// The cursor was set.
    case cursorPut
    /// Whether there was such a cursor.
    case cursorRemoved(Bool)
    /// So many notes of conflicts were removed.
    case conflictsDropped(Int)
    /// So many dead letters were given out.
    case exported(Int)
    /// The store was checked.
    case verified(VerificationReport)
    /// The store was written into a new file.
    case backedUp(BackupSummary)

    package var json: String {
        switch self {
        case .retried(let summary): summary.json
        case .dropped(let count), .conflictsDropped(let count), .exported(let count):
            JSONObject(["count": count]).json
        case .verified(let report): report.json
        case .backedUp(let summary): summary.json
        case .purged(let result):
            JSONObject([
                "transactions": result.transactionCount, "changeRows": result.changeRowCount,
                "holding": result.holdingCursors, "passed": result.passedCursors,
            ]).json
        case .purgesConfirmed(let held): JSONObject(["confirmed": held]).json
        case .cursorPut: "{}"
        case .cursorRemoved(let isRemoved): JSONObject(["removed": isRemoved]).json
        }
    }

    /// The result in one line of a log, which has of a report the counts only.
    var logLine: String {
        guard case .verified(let report) = self else { return json }
        let checked = report.checks.reduce(0) { $0 + $1.checkedCount }
        return JSONObject([
            "isSound": report.isSound, "problemCount": report.problemCount, "checkedCount": checked,
        ]).json
    }

    /// Reads the result of a request.
    ///
    /// - Throws: ``ControlError``.
    init(_ json: JSONValue?, of request: ControlRequest) throws(ControlError) {
        guard let json, json.kind == .object else { throw .malformed("'result' is no object") }
        func number(_ name: String) throws(ControlError) -> Int {
            guard let number = json.member(named: name)?.int64 else { throw .malformed("'\(name)' is missing") }
            return Int(number)
        }
        switch request {
        case .retryDeadLetters:
            var summary = DeadLetterRetry.Summary()
            summary.tried = try number("tried")
            summary.applied = try number("applied")
            summary.stale = try number("stale")
            summary.filtered = try number("filtered")
            summary.failed = try number("failed")
            self = .retried(summary)
        case .dropDeadLetters: self = .dropped(try number("count"))
        case .dropConflicts: self = .conflictsDropped(try number("count"))
        case .exportDeadLetters: self = .exported(try number("count"))
        case .verify: self = .verified(VerificationReport(json))
        case .backUp: self = .backedUp(try BackupSummary(json))
        case .purgeHistory:
            self = .purged(
                PurgeResult(
                    transactionCount: try number("transactions"), changeRowCount: try number("changeRows"),
                    holdingCursors: Self.tokens(json.member("holding")),
                    passedCursors: Self.tokens(json.member("passed"))))
        case .confirmPurges: self = .purgesConfirmed(json.member("confirmed").flatMap { HeldPurges($0) })
        case .putCursor: self = .cursorPut
        case .removeCursor: self = .cursorRemoved(json.member("removed")?.bool ?? false)
        }
    }

    private static func tokens(_ json: JSONValue?) -> [String: Int64] {
        var tokens: [String: Int64] = [:]
        guard let json else { return tokens }
        for (name, value) in json.members { tokens[String(decoding: name, as: UTF8.self)] = value.int64 }
        return tokens
    }
}

extension StoreStep {
    fileprivate var line: [UInt8] {
        switch self {
        case .writing(let path, let byteCount):
            ControlLine.text(["answer": "step", "step": "writing", "path": path, "count": byteCount])
        case .copying(let table, let rowCount):
            ControlLine.text(["answer": "step", "step": "copying", "table": table, "count": rowCount])
        case .verifying(let check, let checkedCount, let share):
            ControlLine.text([
                "answer": "step", "step": "verifying", "check": check, "count": checkedCount, "share": share,
            ])
        }
    }

    /// Reads a step that another process has told; nil where it is of a kind that a newer worker may have.
    fileprivate init?(_ json: JSONValue) {
        func text(_ name: String) -> String { json.member(named: name)?.string ?? "" }
        let count = json.member("count")?.int64.flatMap { Int(exactly: $0) } ?? 0
        switch json.member("step")?.string {
        case "writing": self = .writing(path: text("path"), byteCount: count)
        case "copying": self = .copying(table: text("table"), rowCount: count)
        case "verifying":
            self = .verifying(
                check: text("check"), checkedCount: count, share: json.member(named: "share")?.double)
        default: return nil
        }
    }
}

extension VerificationReport {
    /// Reads a report that another process has made.
    fileprivate init(_ json: JSONValue) {
        func text(_ json: JSONValue, _ name: String) -> String? { json.member(named: name)?.string }
        func count(_ json: JSONValue, _ name: String) -> Int64 { json.member(named: name)?.int64 ?? 0 }
        let checks = json.member("checks")?.elements.map { check in
            let problems = check.member("problems")?.elements.map { problem in
                Problem(
                    entity: text(problem, "entity") ?? "", identity: text(problem, "identity"),
                    property: text(problem, "property"), what: text(problem, "what") ?? "")
            }
            return Check(
                name: text(check, "name") ?? "", checkedCount: count(check, "checkedCount"), problems: problems ?? [],
                problemCount: Int(count(check, "problemCount")))
        }
        self.init(checks: checks ?? [])
    }
}

extension BackupSummary {
    /// Reads a summary that another process has made.
    fileprivate init(_ json: JSONValue) throws(ControlError) {
        guard let path = json.member("path")?.string, let bytes = json.member("bytes")?.int64,
            let last = json.member("lastTransaction")?.int64, let isVerified = json.member("verified")?.bool
        else { throw .malformed("the summary of the backup is not whole") }
        let positions = json.member("positions")?.elements.compactMap { position -> SourcePosition? in
            guard let topic = position.member("topic")?.string, let next = position.member("nextOffset")?.int64,
                let partition = position.member("partition")?.int64.flatMap({ Int32(exactly: $0) })
            else { return nil }
            return SourcePosition(topic: topic, partition: partition, nextOffset: next)
        }
        self.init(
            path: path, byteCount: Int(bytes), lastTransaction: last, positions: positions ?? [], isVerified: isVerified
        )
    }
}
