/// What a model file says, before names are resolved. Readers of each file format make one of these.
struct ModelDeclaration {
    var name = "model"
    var version = "1"
    var entities: [EntityDeclaration] = []
}

/// A text with the line it stands on.
struct Located<Content> {
    var content: Content
    var line: Int?
}

struct EntityDeclaration {
    var name: String
    var line: Int?
    var identity: Located<String>?
    var version: Located<String>?
    var attributes: [AttributeDeclaration] = []
    var relationships: [RelationshipDeclaration] = []
    var indexes: [Located<[String]>] = []
}

struct AttributeDeclaration {
    var name: String
    var line: Int?
    var type: AttributeType = .string
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
}

struct RelationshipDeclaration {
    var name: String
    var line: Int?
    var destination: Located<String>
    /// The inverse's name; nil where the file says that there is none.
    var inverse: Located<String>?
    var isToMany = false
    var isOptional = false
    var deleteRule = DeleteRule.nullify
    var onMissing = MissingDestination.placeholder
    var minimumCount = 0
    var maximumCount: Int?
}
