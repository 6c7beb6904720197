/// The declarations of a model file, before names are resolved. Readers of each file format make one of these.
package struct ModelDeclaration: Sendable {
    package var name = "model"
    package var version = "1"
    package var entities: [EntityDeclaration] = []
    /// The file's notes about the model, for people and tools.
    package var info: [String: String] = [:]
    /// Notes that are reported once about the file: settings without effect here, and additions.
    package var notes: [String] = []

    package init(name: String = "model", version: String = "1") {
        self.name = name
        self.version = version
    }
}

/// A text with the line it stands on.
package struct Located<Content> {
    package var content: Content
    package var line: Int?

    package init(content: Content, line: Int? = nil) {
        self.content = content
        self.line = line
    }
}

extension Located: Sendable where Content: Sendable {}

package struct EntityDeclaration: Sendable {
    package var name: String
    package var line: Int?
    /// Tells whether something was wrong with it, so that what it lacks is no mistake of its own.
    package var isUnclear = false
    /// The entity whose properties this one has too.
    package var parent: Located<String>?
    package var isAbstract = false
    package var identity: Located<String>?
    package var version: Located<String>?
    package var attributes: [AttributeDeclaration] = []
    package var relationships: [RelationshipDeclaration] = []
    /// Lists of properties whose values together are unique.
    package var uniqueness: [Located<[String]>] = []
    package var indexes: [IndexDeclaration] = []
    package var mergePolicy: Located<String>?
    /// The name that the entity had in the model's versions before.
    package var renamedFrom: Located<String>?
    /// A text that makes the entity another one though nothing else changed.
    package var hashModifier: String?
    /// The class that represents the objects in a program, for generators.
    package var className: String?
    /// The file's notes about the entity, for people and tools.
    package var info: [String: String] = [:]

    package init(name: String, line: Int? = nil) {
        self.name = name
        self.line = line
    }
}

package struct IndexDeclaration: Sendable {
    package struct Element: Sendable {
        package enum Content: Equatable, Sendable {
            case property(String)
            /// As in `lowercase:(title)`.
            case expression(String)
        }

        package var content: Content
        package var isDescending = false
        package var line: Int?

        package init(content: Content, isDescending: Bool = false, line: Int? = nil) {
            self.content = content
            self.isDescending = isDescending
            self.line = line
        }
    }

    /// The index's own name, or nil where its properties name it.
    package var name: String?
    package var line: Int?
    package var elements: [Element] = []
    /// The condition on the rows that a partial index holds.
    package var predicate: Located<String>?

    package init(name: String? = nil, line: Int? = nil, elements: [Element] = []) {
        self.name = name
        self.line = line
        self.elements = elements
    }
}

package struct AttributeDeclaration: Sendable {
    package var name: String
    package var line: Int?
    package var type: AttributeType = .string
    /// Tells whether it could not be read; the name is known.
    package var isUnclear = false
    package var isOptional = false
    package var isUnique = false
    package var isIndexed = false
    package var isPreservedAfterDeletion = false
    package var defaultText: Located<String>?
    package var minimumText: Located<String>?
    package var maximumText: Located<String>?
    package var minimumLength: Int?
    package var maximumLength: Int?
    package var pattern: Located<String>?
    package var derived: Located<String>?
    package var isTransient = false
    package var renamedFrom: Located<String>?
    package var hashModifier: String?
    package var info: [String: String] = [:]

    package init(name: String, line: Int? = nil, type: AttributeType = .string) {
        self.name = name
        self.line = line
        self.type = type
    }
}

package struct RelationshipDeclaration: Sendable {
    package var name: String
    package var line: Int?
    package var destination: Located<String>
    /// Tells whether it could not be read; the name is known.
    package var isUnclear = false
    /// The inverse's name; nil where the file says that there is none.
    package var inverse: Located<String>?
    package var isToMany = false
    package var isOptional = false
    package var deleteRule = DeleteRule.nullify
    package var onMissing = MissingDestination.placeholder
    package var minimumCount = 0
    package var maximumCount: Int?
    package var isOrdered = false
    package var isTransient = false
    package var renamedFrom: Located<String>?
    package var hashModifier: String?
    package var info: [String: String] = [:]

    package init(name: String, line: Int? = nil, destination: Located<String>) {
        self.name = name
        self.line = line
        self.destination = destination
    }
}
