/// A rule of the model that a value or an object breaks, with the code that Core Data gives it.
///
/// Source of the codes: CoreDataErrors.h.
public struct ValidationFailure: CodedError, Equatable {
    /// Why a value is refused; the raw value is Core Data's code.
    public enum Reason: Int, Sendable, CaseIterable {
        /// A rule of a program's own; see ``EntityValidator``.
        case generic = 1550
        case uniqueness = 1551
        case missingMandatory = 1570
        case tooFewDestinations = 1580
        case tooManyDestinations = 1590
        case deniedDelete = 1600
        case numberTooLarge = 1610
        case numberTooSmall = 1620
        case dateTooLate = 1630
        case dateTooSoon = 1640
        case invalidDate = 1650
        case textTooLong = 1660
        case textTooShort = 1670
        case patternMismatch = 1680
        case invalidURI = 1690

        /// The name of the rule, such as `validation.pattern`; it is stable.
        public var name: String {
            let rule =
                switch self {
                case .generic: "rule"
                case .uniqueness: "unique"
                case .missingMandatory: "required"
                case .tooFewDestinations: "min_count"
                case .tooManyDestinations: "max_count"
                case .deniedDelete: "deny"
                case .numberTooLarge: "max"
                case .numberTooSmall: "min"
                case .dateTooLate: "max_date"
                case .dateTooSoon: "min_date"
                case .invalidDate: "date"
                case .textTooLong: "max_length"
                case .textTooShort: "min_length"
                case .patternMismatch: "pattern"
                case .invalidURI: "uri"
                }
            return "validation.\(rule)"
        }

        /// Core Data's code and the name, as messages have them: `(1680, validation.pattern)`.
        ///
        /// - Parameter code: another code of a validator's own.
        package func number(_ code: Int? = nil) -> String { "(\(code ?? rawValue), \(name))" }
    }

    /// The kind of rule that is broken.
    public let reason: Reason
    /// The name of the object's entity.
    public let entity: String
    /// The object's identity, or nil where the failure is of no single object. ``description`` does not show it.
    public package(set) var identity: Value?
    /// The object's id, or nil where the failure is of no single object, or of one that an event would have made.
    ///
    /// Source: CoreDataErrors.h, NSValidationObjectErrorKey.
    public package(set) var objectID: ManagedObjectID?
    /// The name of the attribute or relationship whose rule is broken, or nil where the whole object is meant.
    public let property: String?
    /// The limit, without the value that broke it.
    public let limit: String

    /// Core Data's code of the failure, or the one that a validator gave.
    public let code: Int

    package init(reason: Reason, entity: String, property: String?, limit: String, code: Int? = nil) {
        self.reason = reason
        self.code = code ?? reason.rawValue
        self.entity = entity
        self.property = property
        self.limit = limit
    }

    /// Makes the failure of an object without a value that its entity requires.
    package static func missing(_ property: String, of entity: Entity) -> ValidationFailure {
        ValidationFailure(
            reason: .missingMandatory, entity: entity.name, property: property, limit: "is required and has no value")
    }

    /// Makes the failure of an object whose deletion a relationship refuses.
    package static func deniedDelete(_ relationship: Relationship, of entity: Entity) -> ValidationFailure {
        ValidationFailure(
            reason: .deniedDelete, entity: entity.name, property: relationship.name,
            limit: "forbids the deletion while there are objects in it")
    }

    /// Returns the failure with the object that it is of.
    package func about(_ identity: Value, _ objectID: ManagedObjectID?) -> ValidationFailure {
        var failure = self
        failure.identity = identity
        failure.objectID = objectID
        return failure
    }

    /// The text `validation.` with Core Data's code.
    public var stableCode: String { "validation.\(code)" }
    /// The property and what is allowed, without the value that broke it.
    public var message: String { "\(entity)\(property.map { ".\($0)" } ?? "") \(limit)" }
    /// The remedy, for the object's next save.
    public var remedy: String {
        switch reason {
        case .generic: "Correct the object as its rule says"
        case .uniqueness: "Give it a value that no other object has"
        case .missingMandatory: "Give it a value"
        case .tooFewDestinations: "Add objects to it"
        case .tooManyDestinations: "Remove objects from it"
        case .deniedDelete: "Delete these objects first or in the same save, or lead them elsewhere"
        case .numberTooLarge, .numberTooSmall, .dateTooLate, .dateTooSoon, .textTooLong, .textTooShort:
            "Give it a value within the limit"
        case .invalidDate: "Give it a date of the years 1 to 9999"
        case .patternMismatch: "Give it a text that matches the pattern"
        case .invalidURI: "Give it a URI or a relative reference"
        }
    }
    /// The message, Core Data's code and the name of the rule.
    public var description: String { "\(message) \(number)" }
    package var number: String { reason.number(code) }

    /// Returns the code of a dead letter for a rule's name; nil where no rule has it.
    package static func stableCode(ofName name: String) -> String? {
        if name == ValidationFailures.multipleName { return "validation.\(ValidationFailures.multipleCode)" }
        return Reason.allCases.first { $0.name == name }.map { "validation.\($0.rawValue)" }
    }
}

/// All rules that one event breaks.
///
/// One failure keeps its own code; several have Core Data's code 1560 and are the details.
package struct ValidationFailures: CodedError, Equatable {
    /// Core Data's code of several failures at once.
    static let multipleCode = 1560
    static let multipleName = "validation.several"
    /// How many details are kept; the others are counted.
    package static let maximumDetailCount = 100
    private static let maximumTextCount = 10

    package private(set) var details: [ValidationFailure] = []
    package private(set) var count = 0

    package init() {}

    package init(_ failure: ValidationFailure) { add(failure) }

    package var isEmpty: Bool { count == 0 }

    package var code: Int { count == 1 ? details.first?.code ?? Self.multipleCode : Self.multipleCode }

    package var stableCode: String { "validation.\(code)" }

    package mutating func add(_ failure: ValidationFailure) {
        count += 1
        if details.count < Self.maximumDetailCount { details.append(failure) }
    }

    package mutating func add(_ failures: [ValidationFailure]) {
        for failure in failures { add(failure) }
    }

    package mutating func add(_ other: ValidationFailures) {
        count += other.count
        details += other.details.prefix(Self.maximumDetailCount - details.count)
    }

    /// Throws itself where there is a failure.
    package func check() throws(ValidationFailures) {
        if !isEmpty { throw self }
    }

    package var description: String { message }

    package var message: String {
        if count == 1, let only = details.first { return only.description }
        let shown = details.prefix(Self.maximumTextCount).map(\.description).joined(separator: "; ")
        let rest = count - min(details.count, Self.maximumTextCount)
        return
            "\(count) rules are broken (\(Self.multipleCode), \(Self.multipleName)): \(shown)\(rest > 0 ? "; and \(rest) more" : "")"
    }
}
