import GraphCore

/// The declaration of one property of a typed class, made once for each class.
final class PropertyDeclaration {
    /// The place of a declaration in the program.
    struct Place: Sendable, Equatable {
        let file: String
        let line: Int

        init(_ file: StaticString, _ line: Int) {
            self.file = "\(file)"
            self.line = line
        }
    }

    enum Kind: String {
        case identity = "@Identity"
        case field = "@Field"
        case derived = "@Derived"
        case toOne = "@ToOne"
        case toMany = "@ToMany"
    }

    enum Content {
        case attribute(any AttributeValue.Type, (inout AttributeDeclaration) -> Void)
        case relationship(TypedObject.Type, RelationshipInverse, (inout RelationshipDeclaration) -> Void)
    }

    /// True while the library reads the declarations of a class. Other objects use the declarations of their class.
    @TaskLocal package static var isReading = false

    let kind: Kind
    let place: Place
    let content: Content
    /// The property's name, which the library finds when it reads the class's declarations.
    fileprivate(set) var name = ""
    /// The class that declares the property: the object's class or a superclass.
    fileprivate(set) var owner: TypedObject.Type = TypedObject.self

    private init(_ kind: Kind, _ place: Place, _ content: Content) {
        self.kind = kind
        self.place = place
        self.content = content
    }

    static func attribute<Content: AttributeValue>(
        _ kind: Kind, _ type: Content.Type, _ file: StaticString, _ line: Int,
        fill: (inout AttributeDeclaration) -> Void
    ) -> PropertyDeclaration? {
        guard isReading else { return nil }
        var filled = AttributeDeclaration(name: "", line: nil, type: type.attributeTypes.first ?? .string)
        filled.isOptional = type.isOptional
        fill(&filled)
        filled.allow(type.storedCases)
        let declared = filled
        return PropertyDeclaration(
            kind, Place(file, line),
            .attribute(type) { attribute in
                let (name, line) = (attribute.name, attribute.line)
                attribute = declared
                (attribute.name, attribute.line) = (name, line)
            })
    }

    static func relationship(
        _ kind: Kind, to destination: TypedObject.Type, _ inverse: RelationshipInverse, _ file: StaticString,
        _ line: Int, fill: @escaping (inout RelationshipDeclaration) -> Void
    ) -> PropertyDeclaration? {
        guard isReading else { return nil }
        return PropertyDeclaration(kind, Place(file, line), .relationship(destination, inverse, fill))
    }

    func found(as name: String, in owner: TypedObject.Type) {
        self.name = name
        self.owner = owner
    }

    var isRelationship: Bool { kind == .toOne || kind == .toMany }

    /// Tells whether it is an attribute without a column in the store.
    var isTransient: Bool {
        guard case .attribute(_, let fill) = content else { return false }
        var attribute = AttributeDeclaration(name: name)
        fill(&attribute)
        return attribute.isTransient
    }

    /// The destination class of a relationship.
    var destination: TypedObject.Type? {
        if case .relationship(let destination, _, _) = content { return destination }
        return nil
    }

    /// `Chat.title`.
    var label: String { "\(owner).\(name)" }
}

/// The inverse of a relationship.
enum RelationshipInverse {
    /// The other side declares the inverse.
    case statedByOther
    case keyPath(() -> AnyKeyPath)
    case itself
    case none
}

/// A property wrapper that declares a property.
protocol PropertyWrapper {
    var declaration: PropertyDeclaration? { get }
}

extension AttributeDeclaration {
    /// Lets the attribute have the values of an enumeration only, unless the declaration has limits of its own.
    ///
    /// Events and batch requests would otherwise store values that no case stands for.
    fileprivate mutating func allow(_ cases: [Value]) {
        let texts = cases.compactMap(\.text)
        if !texts.isEmpty, pattern == nil {
            pattern = Located(content: "^(\(texts.map(Self.escaped).joined(separator: "|")))$", line: nil)
        }
        let numbers = cases.compactMap(\.integer)
        guard let least = numbers.min(), let greatest = numbers.max() else { return }
        minimumText = minimumText ?? Located(content: String(least), line: nil)
        maximumText = maximumText ?? Located(content: String(greatest), line: nil)
    }

    /// A text as a regular expression that matches it.
    private static func escaped(_ text: String) -> String {
        text.map { $0.isLetter || $0.isNumber || $0 == "_" || $0 == " " ? "\($0)" : "\\\($0)" }.joined()
    }
}
