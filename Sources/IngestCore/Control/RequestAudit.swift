import GraphCore
import RecordDecoding

/// The audit entry of a request: it is saved with each step of the request, in the commit of the step.
///
/// So a request that is repeated with its key gets the answer of the first. If the first did not end, the repetition goes
/// on where it stopped.
struct RequestAudit {
    /// How far a request is; the raw values are stable.
    enum State: String {
        /// The request is under way, or its worker ended before it did.
        case unfinished
        case done
        case failed
    }

    private var entry: AuditEntry
    /// The result that an earlier request with the same key had, or nil. An export reads again instead.
    let earlier: ControlResult?
    /// The result so far of an earlier request with the same key that did not come to its end, or nil.
    let progress: ControlResult?
    /// The last dead letter at the request's begin: later ones do not belong to it.
    let lastLetter: Int64

    /// Whether the entry stood before this request.
    let isRepetition: Bool

    /// When the request began, in microseconds since 1970 UTC.
    var time: Int64 { entry.time }

    /// Finds the entry of an earlier request with the same key, or makes one, which is not saved yet.
    ///
    /// - Throws: ``ControlError/keyReused`` where the key stands for another request, and `StoreError`.
    init(_ request: ControlRequest, actor: String, key: String?, writer: WriterContext) throws {
        let (saved, last) = try writer.store.read { context in
            (try key.flatMap { try context.auditEntry(key: $0) }, try context.session.lastDeadLetterID())
        }
        isRepetition = saved != nil
        guard let saved else {
            entry = AuditEntry(
                time: writer.now, actor: actor, action: request.name, request: request.arguments, idempotencyKey: key)
            (earlier, progress, lastLetter) = (nil, nil, last)
            return
        }
        guard saved.action == request.name, saved.request == request.arguments else { throw ControlError.keyReused }
        entry = saved
        let trail = try Trail(saved.result ?? "{}", of: request)
        earlier = trail.state == .done && !request.givesLines ? trail.result : nil
        progress = trail.result
        lastLetter = trail.lastLetter ?? last
    }

    /// Saves how far the request is, with the next commit.
    ///
    /// - Parameters:
    ///   - result: the result so far.
    ///   - error: why the request failed, or nil.
    /// - Returns: the entry as it stands after the commit.
    func saved(
        _ state: State, _ result: ControlResult?, _ error: ControlError? = nil, with writer: WriterContext
    ) throws(StoreError) -> RequestAudit {
        var audit = self
        audit.entry.result = AuditEntry.outcome(
            state, at: writer.now, lastLetter: state == .done ? nil : lastLetter, code: error?.code,
            message: error?.message ?? "", result: result?.json)
        audit.entry.id = try writer.put(audit.entry)
        return audit
    }
}

/// The state and the result so far of an audit entry.
private struct Trail {
    let state: RequestAudit.State?
    let result: ControlResult?
    let lastLetter: Int64?

    /// The nesting of the result of a verification, and the bytes that an entry may have.
    private static let (maximumDepth, maximumBytes) = (16, 64 << 20)

    init(_ json: String, of request: ControlRequest) throws {
        let parser = JSONParser(depthLimit: Self.maximumDepth, maximumBytes: Self.maximumBytes)
        self = try Array(json.utf8).withUnsafeBytes { bytes in
            try parser.withValue(of: bytes) { try Trail($0, of: request) }
        }
    }

    private init(_ json: JSONValue, of request: ControlRequest) throws {
        state = json.member("state")?.string.flatMap { RequestAudit.State(rawValue: $0) }
        result = try json.member("result").map { try ControlResult($0, of: request) }
        lastLetter = json.member("lastDeadLetter")?.int64
    }
}
