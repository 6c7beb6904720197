/// What a batch request returns.
public enum BatchResultKind: Sendable, CaseIterable {
    /// Nothing but that it was carried out.
    case status
    /// The number of objects.
    case count
    /// Which objects: all of them are in memory then.
    case objects
}

/// Sets attributes of many objects inside the store: none of them is read into memory.
///
/// For example:
///
///     var request = BatchUpdateRequest("Message", where: "sentAt < '2025-01-01'")
///     request.assignments = ["seq": .value(0), "weight": .expression("weight * 2")]
///     let result = try writer.execute(request)
///
/// Objects that hold the values already are left alone, and so are placeholders. The rules are in docs/reference/batch.md.
public struct BatchUpdateRequest: Sendable {
    /// What an attribute is set to.
    public enum Assignment: Sendable {
        /// A value as an expression: a literal; null clears the attribute.
        case constant(FetchPredicate.Expression)
        /// Arithmetic over attributes of the same object, as derived attributes have it: `price * 1.1`.
        case expression(String)

        /// Assigns a Swift value; nil clears the attribute.
        public static func value(_ value: (any PropertyValue)?) -> Assignment {
            .constant(value?.predicateExpression ?? .null)
        }
    }

    /// Which objects; its sort, limit, offset and properties have no meaning here. Objects of the entities below are
    /// among them unless ``FetchRequest/includesSubentities`` is false.
    public var objects: FetchRequest
    /// What is set, by attribute.
    public var assignments: [String: Assignment] = [:]
    /// What is returned.
    public var resultKind = BatchResultKind.count

    /// Makes a request for the objects of an entity that a condition is true of, with the values of the condition's
    /// placeholders; without a condition, for all.
    public init(
        _ entity: String, where text: String? = nil, _ arguments: (any PropertyValue)?...,
        set assignments: [String: Assignment] = [:]
    ) {
        objects = FetchRequest(entity, where: text, arguments: arguments)
        self.assignments = assignments
    }
}

/// Deletes many objects inside the store, and what hangs on them: the delete rules hold, and a rule that refuses makes
/// the request fail as a whole.
public struct BatchDeleteRequest: Sendable {
    /// Which objects; its sort, limit, offset and properties have no meaning here. Objects of the entities below are
    /// among them unless ``FetchRequest/includesSubentities`` is false.
    public var objects: FetchRequest
    /// What is returned.
    public var resultKind = BatchResultKind.count

    /// Makes a request for the objects of an entity that a condition is true of, with the values of the condition's
    /// placeholders; without a condition, for all.
    public init(_ entity: String, where text: String? = nil, _ arguments: (any PropertyValue)?...) {
        objects = FetchRequest(entity, where: text, arguments: arguments)
    }
}

/// Inserts many objects, a few at a time in memory.
///
/// A row that meets an object with its identity, or with the same value of ``matching``, changes that object: only the
/// attributes that the row names. Source of the trap that this avoids: NSBatchInsertRequest resets the others to their
/// defaults.
public struct BatchInsertRequest {
    /// What a row gives a property.
    public enum Content: Sendable {
        /// An attribute's value, or what addresses a to-one relationship's destination.
        case literal(FetchPredicate.Expression)
        /// What addresses the destinations of a to-many relationship.
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
    /// Returns the next row, or nil at the end: contents by property. A to-one relationship takes the destination's
    /// identity as its value.
    public var nextRow: () throws -> [String: Content]?
    /// The unique attribute by which a row meets an object; nil for the identity.
    public var matching: String?
    /// What is returned.
    public var resultKind = BatchResultKind.count

    /// Makes a request of a closure that returns one row after the other.
    public init(_ entity: String, nextRow: @escaping () throws -> [String: Content]?) {
        self.entity = entity
        self.nextRow = nextRow
    }

    /// Makes a request of a sequence of rows.
    public init(_ entity: String, rows: some Sequence<[String: Content]>) {
        var iterator = rows.makeIterator()
        self.init(entity) { iterator.next() }
    }

    /// Makes a request of a sequence of rows that name attributes and to-one relationships only, all of one Swift type.
    public init<Given: PropertyValue>(_ entity: String, values rows: some Sequence<[String: Given]>) {
        self.init(entity, values: rows.lazy.map { row -> [String: (any PropertyValue)?] in row })
    }

    /// Makes a request of a sequence of rows that name attributes and to-one relationships only.
    public init(_ entity: String, values rows: some Sequence<[String: (any PropertyValue)?]>) {
        var iterator = rows.makeIterator()
        self.init(entity) { iterator.next()?.mapValues { .value($0) } }
    }
}

/// What a batch request did.
public struct BatchResult: Sendable {
    /// The number of objects that were asked for and that changed; of a deletion, what hung on them aside.
    public let count: Int
    /// How many objects were inserted, updated and deleted in all: what delete rules and derived attributes changed too.
    public let changes: ChangeTally
    /// The history transaction, or nil where nothing changed.
    public let token: Int64?
    /// The objects of the request's entity that changed, where they were asked for.
    public let objects: [ObjectReference]
    /// The number of rows of an insertion that were older than the object they met, and changed nothing.
    public let staleCount: Int
}

/// Why a batch request was refused as a whole; the store is as it was.
public struct BatchError: Error, Sendable, CustomStringConvertible {
    /// The kinds of refusal; the raw values are stable and meant for scripts and logs.
    public enum Code: String, Sendable {
        /// The request itself is wrong.
        case invalid = "batch.invalid"
        /// A rule of the model would be broken.
        case refused = "batch.refused"
    }

    /// The kind of refusal.
    public let code: Code
    /// What is wrong, without any value of an object.
    public let message: String
    /// What to do.
    public let remedy: String
    /// The rules of the model that would be broken, the first hundred; none where the refusal is of another kind.
    public let failures: [ValidationFailure]
    /// The number of the row that was refused, from 1; of an insertion only.
    public let row: Int?

    /// A request does not mend itself.
    public var isRetriable: Bool { false }

    /// Core Data's code where rules were broken. Source: CoreDataErrors.h, NSBatchDeleteRequest.h.
    public var coreDataCode: Int? { code == .refused ? 134_050 : nil }

    /// The first rule that would be broken.
    public var failure: ValidationFailure? { failures.first }

    /// Tells whether SQLite refused what was written, and not a check of ours before.
    var isRefusedBySchema: Bool { code == .refused && failures.isEmpty }

    /// Everything in one line.
    public var description: String {
        "\(row.map { "Row \($0): " } ?? "")\(message). \(remedy) [\(code.rawValue)]"
    }

    init(_ code: Code, _ message: String, remedy: String, failures: [ValidationFailure] = [], row: Int? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.failures = failures
        self.row = row
    }

    init(_ failures: ValidationFailures) {
        self.init(
            .refused, failures.description,
            remedy: "Nothing was changed; narrow the request, or mend the objects first", failures: failures.details)
    }
}
