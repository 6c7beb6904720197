import GraphCore

/// Deletes many objects inside the store by the delete rules. If a rule refuses, the whole request fails.
public struct BatchDeleteRequest: Sendable {
    /// The objects; sort, limit, offset and properties have no meaning here. Objects of sub-entities are among them
    /// unless ``FetchRequest/includesSubentities`` is false.
    public var objects: FetchRequest
    /// The result to return.
    public var resultKind = BatchResultKind.count

    /// Makes a request for the objects of an entity that match a condition; without a condition, for all objects.
    /// `arguments` are the values of the condition's placeholders.
    public init(_ entity: String, where text: String? = nil, _ arguments: (any PropertyValue)?...) {
        objects = FetchRequest(entity, where: text, arguments: arguments)
    }
}

/// Inserts many objects, with only a few of them in memory at a time.
///
/// A row matches a stored object by its identity, or by its value of ``matching``. It then changes only the attributes
/// that it names. NSBatchInsertRequest resets the others to their defaults.
public struct BatchInsertRequest {
    /// The content of a property in a row.
    public enum Content: Sendable {
        /// An attribute's value, or the identity of a to-one relationship's destination.
        case literal(FetchPredicate.Expression)
        /// The identities of a to-many relationship's destinations.
        case list([FetchPredicate.Expression])

        /// An attribute's value; of a to-one relationship, the destination or its identity.
        public static func value(_ value: (any PropertyValue)?) -> Content {
            .literal(value?.predicateExpression ?? .null)
        }

        /// The destinations of a to-many relationship, or their identities.
        public static func destinations(_ values: [any PropertyValue]) -> Content {
            .list(values.map(\.predicateExpression))
        }
    }

    /// The entity's name.
    public var entity: String
    /// Returns the next row, contents by property, or nil at the end. The content of a to-one relationship is the
    /// destination's identity.
    public var nextRow: () throws -> [String: Content]?
    /// The unique attribute by which a row matches an object; nil for the identity.
    public var matching: String?
    /// The result to return.
    public var resultKind = BatchResultKind.count

    /// Makes a request from a closure that returns one row after the other.
    public init(_ entity: String, nextRow: @escaping () throws -> [String: Content]?) {
        self.entity = entity
        self.nextRow = nextRow
    }

    /// Makes a request from a sequence of rows.
    public init(_ entity: String, rows: some Sequence<[String: Content]>) {
        var iterator = rows.makeIterator()
        self.init(entity) { iterator.next() }
    }

    /// Makes a request from a sequence of rows that name attributes and to-one relationships only, all of one Swift type.
    public init<Given: PropertyValue>(_ entity: String, values rows: some Sequence<[String: Given]>) {
        self.init(entity, values: rows.lazy.map { row -> [String: (any PropertyValue)?] in row })
    }

    /// Makes a request from a sequence of rows that name attributes and to-one relationships only.
    public init(_ entity: String, values rows: some Sequence<[String: (any PropertyValue)?]>) {
        var iterator = rows.makeIterator()
        self.init(entity) { iterator.next()?.mapValues { .value($0) } }
    }
}

/// The result of a batch request.
public struct BatchResult: Sendable {
    /// The number of requested objects that changed, without objects that delete rules changed.
    public let count: Int
    /// The numbers of inserted, updated and deleted objects, with the objects that delete rules and derived values
    /// changed.
    public let changes: ChangeTally
    /// The history transaction, or nil if nothing changed.
    public let token: Int64?
    /// The changed objects of the request's entity, if the request asked for them.
    public let objects: [ObjectReference]
    /// The number of rows of an insertion that were older than their objects, and so changed nothing.
    public let staleCount: Int
}
