/// An event's request about one object. Its positions count the model's entities, slots and relationships.
public struct ObjectOperation: Sendable {
    /// The kind of change to the object.
    public enum Kind: Sendable, BitwiseCopyable {
        /// Creates the object or changes the named properties; the others stay as they are.
        case upsert
        /// Deletes the object by its delete rules.
        case delete
        /// Deletes all objects of the entity and its sub-entities by their delete rules, except objects that are newer
        /// than the event. The identity is null, and the operation is its event's only one.
        case truncate

        /// The kind as logs and samples spell it.
        public var name: String {
            switch self {
            case .upsert: "upsert"
            case .delete: "delete"
            case .truncate: "truncate"
            }
        }
    }

    /// Whether the object is written or deleted.
    public var kind: Kind
    /// The position of the object's entity in the model.
    public var entity: Int
    /// The object's identity, in the stored form of the identity attribute; null for a truncation only.
    public var identity: Value
    /// The version that the event states for the object, or null; older than the stored one changes nothing.
    public var version: Value = .null
    /// When the event happened, in microseconds since 1970 UTC, or nil.
    public var time: Int64?
    /// The attributes that the event names; a null value clears one.
    public var attributes: [AttributeValue] = []
    /// The relationships that the event names.
    public var relationships: [RelationshipValue] = []
    /// The attributes without a column that the event names; their slots are positions among
    /// ``Entity/transientAttributes``. They are checked and not kept.
    public var transients: [AttributeValue] = []

    /// Makes an operation that names no version, time or properties yet.
    public init(_ kind: Kind, entity: Int, identity: Value) {
        self.kind = kind
        self.entity = entity
        self.identity = identity
    }

    /// Makes room for the properties of an object with so many members.
    package mutating func reserve(members: Int, of entity: Entity) {
        attributes.reserveCapacity(min(members, entity.attributes.count))
        relationships.reserveCapacity(min(members, entity.relationships.count))
    }

    /// An attribute that an event names, with its new value.
    public struct AttributeValue: Sendable {
        /// The attribute's position among its entity's columns.
        public var slot: Int
        /// The new value in the attribute's stored form; null clears the attribute.
        public var value: Value

        /// Pairs an attribute's slot with its new value.
        public init(slot: Int, value: Value) {
            self.slot = slot
            self.value = value
        }
    }

    /// A relationship that an event names, with what becomes of its destinations.
    public struct RelationshipValue: Sendable {
        /// The relationship's position in its entity.
        public var relationship: Int
        /// How the destinations change.
        public var change: RelationshipChange
        /// Whether the destinations that a list replaces, and does not have, are deleted.
        public var deletesLost = false

        /// Pairs a relationship's position with its change.
        public init(relationship: Int, change: RelationshipChange) {
            self.relationship = relationship
            self.change = change
        }
    }
}

/// An event's change of a relationship; identities name the destinations.
public enum RelationshipChange: Sendable {
    /// Leads a to-one relationship to an object, or nowhere for null.
    case one(Value)
    /// Replaces the destinations of a to-many relationship.
    case replace([Value])
    /// Adds and removes destinations of a to-many relationship.
    case edit(add: [Value], remove: [Value])

    /// All identities that the change names.
    package var identities: [Value] {
        switch self {
        case .one(let identity): identity.isNull ? [] : [identity]
        case .replace(let identities): identities
        case .edit(let add, let remove): add + remove
        }
    }
}

/// The operations of one record: all have their effect, or none.
public struct ChangeSet: Sendable {
    /// The operations; nested objects come first, the object that the event is about last.
    public var operations: [ObjectOperation]
    /// Where the record holds several events, the number of operations up to the end of each; empty for one event.
    ///
    /// Each of several is stale for itself; all of them are applied, or none.
    public var eventEnds: [Int] = []

    /// Makes an event of operations, in the order in which they apply.
    public init(_ operations: [ObjectOperation]) { self.operations = operations }

    /// Makes an event of one operation.
    public init(_ operation: ObjectOperation) { operations = [operation] }
}

/// The outcome of an event.
public enum EventOutcome: Sendable {
    /// The store is as the event says, whether or not the event changed it.
    case applied
    /// The event is older than what the store knows, and changed nothing.
    case stale
    /// The event breaks a rule, and changed nothing.
    indirect case failed(EventFailure)
}

/// The events of a chunk that were refused; those beside them are applied.
public struct RefusedEvents: CodedError {
    /// Why, by the event's position in the chunk.
    public let failures: [Int: EventFailure]

    /// The code of the first.
    public let code: String
    /// The number of refused events, and the reason of the first refusal, without any value.
    public let message: String
    /// The message.
    public var description: String { message }

    init?(_ outcomes: [EventOutcome]) {
        var failures: [Int: EventFailure] = [:]
        for (index, outcome) in outcomes.enumerated() {
            if case .failed(let failure) = outcome { failures[index] = failure }
        }
        guard let index = failures.keys.min(), let first = failures[index] else { return nil }
        self.failures = failures
        code = first.code
        message =
            "\(failures.count) of \(outcomes.count) events were refused, first the one at position \(index): "
            + "\(first.description) [\(first.code)]"
    }
}

/// Why an event could not be applied.
public struct EventFailure: CodedError, Equatable {
    /// A stable code, such as `validation.1570` or `reference.missing`.
    public let code: String
    /// The problem and its remedy, without any value of the event.
    public let message: String
    /// The rules of the model that are broken, the first hundred; none where the failure is of another kind.
    ///
    /// Several at once have the code `validation.1560`.
    public let details: [ValidationFailure]

    /// The message, which names the remedy.
    public var description: String { message }

    init(code: String, _ message: String) {
        self.code = code
        self.message = message
        details = []
    }

    init(_ failures: ValidationFailures) {
        code = "validation.\(failures.code)"
        message = failures.description
        details = failures.details
    }
}
