/// The result that a batch request asks for.
public enum BatchResultKind: Sendable, CaseIterable {
    /// Only the outcome.
    case status
    /// The number of objects.
    case count
    /// The objects, all of them in memory at once.
    case objects
}

/// Sets attributes of many objects inside the store, without reading the objects into memory.
///
/// For example:
///
///     var request = BatchUpdateRequest("Message", where: "sentAt < '2025-01-01'")
///     request.assignments = ["seq": .value(0), "weight": .expression("weight * 2")]
///     let result = try writer.execute(request)
///
/// The request leaves placeholders alone, and objects that already have the values. docs/reference/batch.md has the rules.
public struct BatchUpdateRequest: Sendable {
    /// The new value of an attribute.
    public enum Assignment: Sendable {
        /// A literal; null clears the attribute.
        case constant(FetchPredicate.Expression)
        /// Arithmetic over attributes of the same object, in the syntax of derived attributes: `price * 1.1`.
        case expression(String)

        /// Assigns a Swift value; nil clears the attribute.
        public static func value(_ value: (any PropertyValue)?) -> Assignment {
            .constant(value?.predicateExpression ?? .null)
        }
    }

    /// The objects; sort, limit, offset and properties have no meaning here. Objects of sub-entities are among them
    /// unless ``FetchRequest/includesSubentities`` is false.
    public var objects: FetchRequest
    /// The assignments by attribute.
    public var assignments: [String: Assignment] = [:]
    /// The result to return.
    public var resultKind = BatchResultKind.count

    /// Makes a request for the objects of an entity that match a condition; without a condition, for all objects.
    /// `arguments` are the values of the condition's placeholders.
    public init(
        _ entity: String, where text: String? = nil, _ arguments: (any PropertyValue)?...,
        set assignments: [String: Assignment] = [:]
    ) {
        objects = FetchRequest(entity, where: text, arguments: arguments)
        self.assignments = assignments
    }
}

/// The refusal of a whole batch request. The store is unchanged.
public struct BatchError: CodedError {
    /// The kinds of refusal; the raw values are stable and meant for scripts and logs.
    public enum Code: String, Sendable {
        /// The request itself is wrong.
        case invalid = "batch.invalid"
        /// A rule of the model would be broken.
        case refused = "batch.refused"
    }

    /// The kind of refusal.
    public let code: Code
    /// The problem, without any value of an object.
    public let message: String
    /// The remedy.
    public let remedy: String
    /// The broken rules of the model, at most a hundred; empty for a refusal of another kind.
    public let failures: [ValidationFailure]
    /// The number of the refused row of an insertion, from 1.
    public let row: Int?

    /// Core Data's code for broken rules. Source: CoreDataErrors.h, NSBatchDeleteRequest.h.
    public var coreDataCode: Int? { code == .refused ? 134_050 : nil }

    /// The first broken rule.
    public var failure: ValidationFailure? { failures.first }

    /// The number of the refused row.
    public var location: String? { row.map { "Row \($0)" } }

    package init(_ code: Code, _ message: String, remedy: String, failures: [ValidationFailure] = [], row: Int? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.failures = failures
        self.row = row
    }

    package init(_ failures: ValidationFailures) {
        self.init(
            .refused, failures.description,
            remedy: "Nothing was changed; narrow the request, or correct the objects first", failures: failures.details)
    }
}
