/// Declares the attribute that addresses an object of a ``TypedObject`` class; it is given once and never changes.
@propertyWrapper
public struct Identity<Content: AttributeValue>: PropertyWrapper {
    let declaration: PropertyDeclaration?

    /// Declares the identity.
    ///
    /// - Parameters:
    ///   - renamedFrom: the name in the model's versions before.
    ///   - file: where it is declared, for errors.
    ///   - line: where it is declared, for errors.
    public init(renamedFrom: String? = nil, file: StaticString = #fileID, line: Int = #line) {
        declaration = .attribute(.identity, Content.self, file, line) { attribute in
            attribute.renamedFrom = renamedFrom.map { Located(content: $0, line: nil) }
        }
    }

    /// Not to be called: wrapped properties belong to classes.
    @available(*, unavailable, message: "@Identity is for properties of classes that inherit from TypedObject")
    public var wrappedValue: Content { fatalError("unreachable") }

    /// Reads the identity.
    public static subscript<Owner: TypedObject>(
        _enclosingInstance owner: Owner, wrapped wrapped: KeyPath<Owner, Content>,
        storage storage: KeyPath<Owner, Identity>
    ) -> Content { owner.read(owner.layout.declaration(storage)) }
}

/// Declares an attribute of a ``TypedObject`` class: a stored one, or a transient one that contexts keep in memory only.
///
/// The attribute is optional where the Swift type is; a value that is assigned in the declaration is its default.
@propertyWrapper
public struct Field<Content: AttributeValue>: PropertyWrapper {
    let declaration: PropertyDeclaration?

    /// Declares an attribute.
    ///
    /// - Parameters:
    ///   - type: the attribute's type, where it is another than the first that the Swift type stands for.
    ///   - min: the least value.
    ///   - max: the greatest value.
    ///   - minLength: the least length of a text in characters, of binary in bytes.
    ///   - maxLength: the greatest length.
    ///   - pattern: a regular expression that has to match somewhere in a text; write `^…$` for the whole.
    ///   - unique: whether no two objects may share a value.
    ///   - indexed: whether the store keeps an index.
    ///   - preserveAfterDeletion: whether a deleted object's value stays in the history.
    ///   - transient: whether contexts alone hold the value and the store has no column for it.
    ///   - renamedFrom: the name in the model's versions before.
    ///   - hashModifier: a text that makes the attribute another one though nothing else changed.
    ///   - file: where it is declared, for errors.
    ///   - line: where it is declared, for errors.
    public init(
        type: AttributeType? = nil, min: Content? = nil, max: Content? = nil, minLength: Int? = nil,
        maxLength: Int? = nil, pattern: String? = nil, unique: Bool = false, indexed: Bool = false,
        preserveAfterDeletion: Bool = false, transient: Bool = false, renamedFrom: String? = nil,
        hashModifier: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        declaration = .attribute(.field, Content.self, file, line) { attribute in
            if let type { attribute.type = type }
            let written = attribute.type
            func text(_ value: Content?) -> Located<String>? {
                guard let stored = value?.storedValue, !stored.isNull else { return nil }
                return Located(content: written.text(of: stored), line: nil)
            }
            attribute.minimumText = text(min)
            attribute.maximumText = text(max)
            attribute.minimumLength = minLength
            attribute.maximumLength = maxLength
            attribute.pattern = pattern.map { Located(content: $0, line: nil) }
            attribute.isUnique = unique
            attribute.isIndexed = indexed
            attribute.isPreservedAfterDeletion = preserveAfterDeletion
            attribute.isTransient = transient
            attribute.renamedFrom = renamedFrom.map { Located(content: $0, line: nil) }
            attribute.hashModifier = hashModifier
        }
    }

    /// Declares an attribute with a default.
    public init(
        wrappedValue: Content, type: AttributeType? = nil, min: Content? = nil, max: Content? = nil,
        minLength: Int? = nil, maxLength: Int? = nil, pattern: String? = nil, unique: Bool = false,
        indexed: Bool = false, preserveAfterDeletion: Bool = false, transient: Bool = false,
        renamedFrom: String? = nil, hashModifier: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        let plain = Field(
            type: type, min: min, max: max, minLength: minLength, maxLength: maxLength, pattern: pattern,
            unique: unique, indexed: indexed, preserveAfterDeletion: preserveAfterDeletion, transient: transient,
            renamedFrom: renamedFrom, hashModifier: hashModifier, file: file, line: line)
        guard case .attribute(_, let fill)? = plain.declaration?.content, !wrappedValue.storedValue.isNull else {
            declaration = plain.declaration
            return
        }
        declaration = .attribute(.field, Content.self, file, line) { attribute in
            fill(&attribute)
            attribute.defaultText = Located(content: attribute.type.text(of: wrappedValue.storedValue), line: nil)
        }
    }

    /// Not to be called: wrapped properties belong to classes.
    @available(*, unavailable, message: "@Field is for properties of classes that inherit from TypedObject")
    public var wrappedValue: Content {
        get { fatalError("unreachable") }
        set { fatalError("unreachable") }
    }

    /// Reads or sets the attribute.
    public static subscript<Owner: TypedObject>(
        _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, Content>,
        storage storage: ReferenceWritableKeyPath<Owner, Field>
    ) -> Content {
        get { owner.read(owner.layout.declaration(storage)) }
        set { owner.write(owner.layout.declaration(storage), newValue) }
    }
}

/// Declares an attribute of a ``TypedObject`` class that the store computes, such as `@Derived("messages.@count")`.
@propertyWrapper
public struct Derived<Content: AttributeValue>: PropertyWrapper {
    let declaration: PropertyDeclaration?

    /// Declares a derived attribute; `expression` is written as in a model file.
    public init(
        _ expression: String, type: AttributeType? = nil, indexed: Bool = false, renamedFrom: String? = nil,
        hashModifier: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        declaration = .attribute(.derived, Content.self, file, line) { attribute in
            if let type { attribute.type = type }
            attribute.derived = Located(content: expression, line: nil)
            attribute.isIndexed = indexed
            attribute.renamedFrom = renamedFrom.map { Located(content: $0, line: nil) }
            attribute.hashModifier = hashModifier
        }
    }

    /// Not to be called: wrapped properties belong to classes.
    @available(*, unavailable, message: "@Derived is for properties of classes that inherit from TypedObject")
    public var wrappedValue: Content { fatalError("unreachable") }

    /// Reads the attribute as the store last had it.
    public static subscript<Owner: TypedObject>(
        _enclosingInstance owner: Owner, wrapped wrapped: KeyPath<Owner, Content>,
        storage storage: KeyPath<Owner, Derived>
    ) -> Content { owner.read(owner.layout.declaration(storage)) }
}
