import Synchronization

/// The declarations of a typed class, read once for each class of a process.
///
/// `@unchecked`: everything in it is set before anybody else sees it, and only read from then on.
final class ClassLayout: @unchecked Sendable {
    let type: TypedObject.Type
    /// The declared properties, those of superclasses first.
    let properties: [PropertyDeclaration]
    /// An object whose wrappers hold the declarations.
    private let holder: TypedObject

    private static let known = Mutex<[ObjectIdentifier: ClassLayout]>([:])

    /// Returns the layout of a class.
    static func of(_ type: TypedObject.Type) -> ClassLayout {
        let key = ObjectIdentifier(type)
        if let found = known.withLock({ $0[key] }) { return found }
        // Outside of the lock: the defaults of properties are the program's code.
        let made = ClassLayout(type)
        return known.withLock { known in
            if let found = known[key] { return found }
            known[key] = made
            return made
        }
    }

    private init(_ type: TypedObject.Type) {
        self.type = type
        holder = PropertyDeclaration.$isReading.withValue(true) {
            type.init(TypedObject.Backing(content: .declarations))
        }
        var levels: [[PropertyDeclaration]] = []
        var mirror: Mirror? = Mirror(reflecting: holder)
        while let level = mirror, let owner = level.subjectType as? TypedObject.Type, owner != TypedObject.self {
            levels.append(
                level.children.compactMap { child in
                    guard let declaration = (child.value as? any PropertyWrapper)?.declaration else { return nil }
                    // The storage of a wrapped property `title` is named `_title`.
                    declaration.found(as: Self.name(child.label), in: owner)
                    return declaration
                })
            mirror = level.superclassMirror
        }
        properties = levels.reversed().flatMap { $0 }
    }

    /// The name of the property that a wrapper's storage is for: without the underscore that the compiler adds.
    private static func name(_ label: String?) -> String { String((label ?? "").dropFirst()) }

    /// The properties that the class itself declares.
    var ownProperties: [PropertyDeclaration] { properties.filter { $0.owner == type } }

    /// The typed class above, or nil where the class is the topmost of its hierarchy.
    var superclass: TypedObject.Type? {
        guard let above = Mirror(reflecting: holder).superclassMirror?.subjectType as? TypedObject.Type else {
            return nil
        }
        return above == TypedObject.self ? nil : above
    }

    /// Tells whether the class is another one, or below it.
    func isKind(of other: TypedObject.Type) -> Bool {
        type == other || superclass.map { ClassLayout.of($0).isKind(of: other) } ?? false
    }

    /// What the class, and not one above it, says of its entity.
    var options: EntityOptions? {
        let options = type.entityOptions
        let inherited = (superclass ?? TypedObject.self).entityOptions
        return options.place == inherited.place ? nil : options
    }

    /// Returns the declaration behind the wrapper that a key path leads to.
    func declaration<Owner: TypedObject, Wrapper: PropertyWrapper>(
        _ storage: KeyPath<Owner, Wrapper>
    ) -> PropertyDeclaration? {
        (holder as? Owner)?[keyPath: storage].declaration
    }
}
