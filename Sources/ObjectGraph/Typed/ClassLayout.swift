import GraphCore

import Synchronization

/// The declarations of a typed class, read once for each class of a process.
///
/// `@unchecked`: the initializer sets everything, and afterwards all threads only read it.
final class ClassLayout: @unchecked Sendable {
    let type: TypedObject.Type
    /// The declared properties; inherited ones come first.
    let properties: [PropertyDeclaration]
    /// An object whose wrappers have the declarations.
    private let holder: TypedObject

    private static let known = Mutex<[ObjectIdentifier: ClassLayout]>([:])

    /// Returns the layout of a class.
    static func of(_ type: TypedObject.Type) -> ClassLayout {
        let key = ObjectIdentifier(type)
        if let found = known.withLock({ $0[key] }) { return found }
        // Outside of the lock, because the defaults of properties are the program's code.
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

    /// The name of a wrapper's property: the storage's name without the underscore that the compiler adds.
    private static func name(_ label: String?) -> String { String((label ?? "").dropFirst()) }

    /// The properties that the class itself declares.
    var ownProperties: [PropertyDeclaration] { properties.filter { $0.owner == type } }

    /// The typed superclass, or nil for the topmost class of a hierarchy.
    var superclass: TypedObject.Type? {
        guard let above = Mirror(reflecting: holder).superclassMirror?.subjectType as? TypedObject.Type else {
            return nil
        }
        return above == TypedObject.self ? nil : above
    }

    /// Tells whether the class equals another one or inherits from it.
    func isKind(of other: TypedObject.Type) -> Bool {
        type == other || superclass.map { ClassLayout.of($0).isKind(of: other) } ?? false
    }

    /// The entity options that the class itself declares, not a superclass.
    var options: EntityOptions? {
        let options = type.entityOptions
        let inherited = (superclass ?? TypedObject.self).entityOptions
        return options.place == inherited.place ? nil : options
    }

    /// Returns the declaration of the wrapper at the end of a key path.
    func declaration<Owner: TypedObject, Wrapper: PropertyWrapper>(
        _ storage: KeyPath<Owner, Wrapper>
    ) -> PropertyDeclaration? {
        (holder as? Owner)?[keyPath: storage].declaration
    }
}
