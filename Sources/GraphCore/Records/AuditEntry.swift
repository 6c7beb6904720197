/// An administrative request that was made to the store's writer, with its outcome.
public struct AuditEntry: Sendable, Equatable {
    /// The entry's number in the store; 0 before it is saved.
    public var id: Int64 = 0
    /// When the request began, in microseconds since 1970 UTC.
    public let time: Int64
    /// The maker of the request, such as `user 1000, process 4711`.
    public let actor: String
    /// The request's name, such as `dead-letters.drop`.
    public let action: String
    /// The arguments as a JSON object.
    public let request: String
    /// The key by which a repeated request is recognised, or nil.
    public let idempotencyKey: String?
    /// The state, and the result so far, as a JSON object; nil before the first step.
    public var result: String?

    /// Makes an entry that is not saved yet.
    package init(time: Int64, actor: String, action: String, request: String, idempotencyKey: String? = nil) {
        self.time = time
        self.actor = actor
        self.action = action
        self.request = request
        self.idempotencyKey = idempotencyKey
    }

    /// Makes an entry as a storage holds it.
    package init(
        id: Int64, time: Int64, actor: String, action: String, request: String, idempotencyKey: String?, result: String?
    ) {
        self.init(time: time, actor: actor, action: action, request: request, idempotencyKey: idempotencyKey)
        self.id = id
        self.result = result
    }
}
