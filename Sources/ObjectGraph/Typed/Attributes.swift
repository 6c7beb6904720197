import GraphCore

/// Declares the identity of a ``TypedObject`` class. An object gets it once, and it never changes.
@propertyWrapper
public struct Identity<Content: AttributeValue>: PropertyWrapper {
    let declaration: PropertyDeclaration?

    /// Declares the identity.
    ///
    /// - Parameters:
    ///   - renamedFrom: the name in the model's earlier versions.
    ///   - file: the place of the declaration, for errors.
    ///   - line: the place of the declaration, for errors.
    public init(renamedFrom: String? = nil, file: StaticString = #fileID, line: Int = #line) {
        declaration = .attribute(.identity, Content.self, file, line) { attribute in
            attribute.renamedFrom = renamedFrom.map { Located(content: $0, line: nil) }
        }
    }

    /// Do not call this: wrapped properties belong to classes.
    @available(*, unavailable, message: "@Identity is for properties of classes that inherit from TypedObject")
    public var wrappedValue: Content { fatalError("unreachable") }

    /// Reads the identity.
    public static subscript<Owner: TypedObject>(
        _enclosingInstance owner: Owner, wrapped wrapped: KeyPath<Owner, Content>,
        storage storage: KeyPath<Owner, Identity>
    ) -> Content { owner.read(owner.layout.declaration(storage)) }
}

/// Declares a stored attribute of a ``TypedObject`` class, or a transient one that only contexts keep, in memory.
///
/// The attribute is optional if the Swift type is. A value in the declaration is its default.
@propertyWrapper
public struct Field<Content: AttributeValue>: PropertyWrapper {
    let declaration: PropertyDeclaration?

    /// Declares an attribute.
    ///
    /// - Parameters:
    ///   - type: the attribute's type; by default the first of the Swift type's attribute types.
    ///   - min: the minimum value.
    ///   - max: the maximum value.
    ///   - minLength: the minimum length: characters of a text, bytes of binary.
    ///   - maxLength: the maximum length.
    ///   - pattern: a regular expression that has to match somewhere in a text; write `^…$` for the whole.
    ///   - unique: whether no two objects may share a value.
    ///   - indexed: whether the store has an index.
    ///   - preserveAfterDeletion: whether the history keeps a deleted object's value.
    ///   - transient: whether only contexts keep the value, without a column in the store.
    ///   - renamedFrom: the name in the model's earlier versions.
    ///   - hashModifier: a text that changes the attribute's hash although nothing else changed.
    ///   - file: the place of the declaration, for errors.
    ///   - line: the place of the declaration, for errors.
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

    /// Do not call this: wrapped properties belong to classes.
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

    /// Declares a derived attribute; `expression` has the syntax of a model file.
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

    /// Do not call this: wrapped properties belong to classes.
    @available(*, unavailable, message: "@Derived is for properties of classes that inherit from TypedObject")
    public var wrappedValue: Content { fatalError("unreachable") }

    /// Reads the attribute's value of the last save.
    public static subscript<Owner: TypedObject>(
        _enclosingInstance owner: Owner, wrapped wrapped: KeyPath<Owner, Content>,
        storage storage: KeyPath<Owner, Derived>
    ) -> Content { owner.read(owner.layout.declaration(storage)) }
}
