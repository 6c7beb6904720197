/// What a model file says, before names are resolved. Readers of each file format make one of these.
struct ModelDeclaration: Sendable {
    var name = "model"
    var version = "1"
    var entities: [EntityDeclaration] = []
    /// What the file says about the model to people and tools.
    var info: [String: String] = [:]
    /// What is to be told once about the file: settings that have no effect here, and what was added.
    var notes: [String] = []
}

/// A text with the line it stands on.
struct Located<Content> {
    var content: Content
    var line: Int?
}

extension Located: Sendable where Content: Sendable {}

struct EntityDeclaration: Sendable {
    var name: String
    var line: Int?
    /// Tells whether something was wrong with it, so that what it lacks is no mistake of its own.
    var isUnclear = false
    /// The entity whose properties this one has too.
    var parent: Located<String>?
    var isAbstract = false
    var identity: Located<String>?
    var version: Located<String>?
    var attributes: [AttributeDeclaration] = []
    var relationships: [RelationshipDeclaration] = []
    /// Lists of properties whose values together are unique.
    var uniqueness: [Located<[String]>] = []
    var indexes: [IndexDeclaration] = []
    var mergePolicy: Located<String>?
    /// The name that the entity had in the model's versions before.
    var renamedFrom: Located<String>?
    /// A text that makes the entity another one though nothing else changed.
    var hashModifier: String?
    /// The class that represents the objects in a program, for generators.
    var className: String?
    /// What the file says about the entity to people and tools.
    var info: [String: String] = [:]
}

struct IndexDeclaration: Sendable {
    struct Element: Sendable {
        enum Content: Equatable, Sendable {
            case property(String)
            /// As in `lowercase:(title)`.
            case expression(String)
        }

        var content: Content
        var isDescending = false
        var line: Int?
    }

    /// The index's own name, or nil where its properties name it.
    var name: String?
    var line: Int?
    var elements: [Element] = []
    /// The condition on the rows that a partial index holds.
    var predicate: Located<String>?
}

struct AttributeDeclaration: Sendable {
    var name: String
    var line: Int?
    var type: AttributeType = .string
    /// Tells whether it could not be read; the name is known.
    var isUnclear = false
    var isOptional = false
    var isUnique = false
    var isIndexed = false
    var isPreservedAfterDeletion = false
    var defaultText: Located<String>?
    var minimumText: Located<String>?
    var maximumText: Located<String>?
    var minimumLength: Int?
    var maximumLength: Int?
    var pattern: Located<String>?
    var derived: Located<String>?
    var isTransient = false
    var renamedFrom: Located<String>?
    var hashModifier: String?
    var info: [String: String] = [:]
}

struct RelationshipDeclaration: Sendable {
    var name: String
    var line: Int?
    var destination: Located<String>
    /// Tells whether it could not be read; the name is known.
    var isUnclear = false
    /// The inverse's name; nil where the file says that there is none.
    var inverse: Located<String>?
    var isToMany = false
    var isOptional = false
    var deleteRule = DeleteRule.nullify
    var onMissing = MissingDestination.placeholder
    var minimumCount = 0
    var maximumCount: Int?
    var isOrdered = false
    var isTransient = false
    var renamedFrom: Located<String>?
    var hashModifier: String?
    var info: [String: String] = [:]
}
