import GraphCore

import Synchronization

/// Finds the properties along a key path, by following it on an object that records each access.
final class KeyPathProbe {
    /// The accesses of one key path; each entry is the path from the first object to a property.
    private final class Trace {
        var ways: [[PropertyDeclaration]] = []
    }

    /// The number of destinations of a probe's to-many relationship, by which the probe recognises `.count`.
    static let destinationCount = 3

    private let trace: Trace
    let way: [PropertyDeclaration]

    private init(_ trace: Trace, _ way: [PropertyDeclaration]) {
        self.trace = trace
        self.way = way
    }

    func touch(_ property: PropertyDeclaration) {
        trace.ways.append(way + [property])
    }

    func step(_ relationship: PropertyDeclaration) -> KeyPathProbe {
        touch(relationship)
        return KeyPathProbe(trace, way + [relationship])
    }

    /// Returns the property path of a class's key path.
    ///
    /// - Throws: ``FetchPredicateError`` with code `predicate.unsupported` if it does not lead to a declared property.
    static func path(_ keyPath: AnyKeyPath, of type: TypedObject.Type) throws(FetchPredicateError) -> PropertyPath {
        let key = CachedKeyPath(type: ObjectIdentifier(type), keyPath: keyPath)
        if let known = cache.withLock({ $0[key] }) { return known }
        let found = try find(keyPath, of: type)
        // Refused key paths are not cached, so the program's text bounds the cache.
        cache.withLock { $0[key] = found }
        return found
    }

    private static func find(
        _ keyPath: AnyKeyPath, of type: TypedObject.Type
    ) throws(FetchPredicateError) -> PropertyPath {
        let trace = Trace()
        let object = type.init(TypedObject.Backing(content: .probe(KeyPathProbe(trace, []))))
        let value = object[keyPath: keyPath]
        // A single path: each access is one step longer than the one before.
        let isOneWay = trace.ways.enumerated().allSatisfy { index, way in
            way.count == index + 1 && way.dropLast().elementsEqual(index > 0 ? trace.ways[index - 1] : [], by: ===)
        }
        guard isOneWay, let way = trace.ways.last, let last = way.last, let value,
            !way.dropLast().contains(where: { $0.kind == .toMany })
        else { throw unsupported(keyPath, type) }
        let names = way.map(\.name)
        switch last.content {
        case .attribute(let content, _):
            // The key path computes another value, or a value of another type.
            let valueType = Swift.type(of: keyPath).valueType
            if isSample(value, valueType, of: content) { return PropertyPath(names: names) }
        case .relationship where last.kind == .toOne:
            if let destination = value as? TypedObject, case .probe(let probe) = destination.backing,
                probe.way.elementsEqual(way, by: ===)
            {
                return PropertyPath(names: names)
            }
        case .relationship:
            if value is [TypedObject] { return PropertyPath(names: names) }
            if value as? Int == destinationCount { return PropertyPath(names: names, function: "count") }
        }
        throw unsupported(keyPath, type)
    }

    /// Tells whether a value is the probe's own sample, with the attribute's full type.
    ///
    /// A non-optional value of an optional attribute shows that the key path replaces nil.
    private static func isSample(_ value: Any, _ valueType: Any.Type, of type: any AttributeValue.Type) -> Bool {
        func isSame<Content: AttributeValue>(_ type: Content.Type) -> Bool {
            guard valueType == Content.self || valueType == Optional<Content>.self else { return false }
            guard let value = value as? Content, Content.sample != Content.placeholder else { return false }
            return value == Content.sample
        }
        return isSame(type)
    }

    private static func unsupported(_ keyPath: AnyKeyPath, _ type: TypedObject.Type) -> FetchPredicateError {
        // The description of a computed property is its address.
        let text = "\(keyPath)"
        let shown = text.contains("<") ? "\(text.prefix { $0 != "<" })…" : text
        return FetchPredicateError(
            .unsupported, "A key path of \(type) leads to no declared property (\(shown))", at: nil,
            remedy: "Let it end at a property declared with @Identity, @Field, @Derived, @ToOne or @ToMany, or at the "
                + "count of a @ToMany. Reach the objects of a @ToMany by .any, .all or .none. A TransformableValue "
                + "needs a sample that differs from its placeholder")
    }

    /// `@unchecked`: this code only hashes and compares the key path, which never changes.
    private struct CachedKeyPath: Hashable, @unchecked Sendable {
        let type: ObjectIdentifier
        let keyPath: AnyKeyPath
    }

    private static let cache = Mutex<[CachedKeyPath: PropertyPath]>([:])
}
