import Synchronization

/// Finds out which properties a key path leads over, by following it on an object that notes what is touched.
final class KeyPathProbe {
    /// What one key path has touched: each entry is the way from the first object to a property.
    private final class Trace {
        var ways: [[PropertyDeclaration]] = []
    }

    /// How many objects a to-many relationship of a probe leads to, so that `.count` is known.
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

    /// Returns the way that a key path of a class stands for.
    ///
    /// - Throws: ``FetchPredicateError`` with code `predicate.unsupported` where it is no way to a declared property.
    static func path(_ keyPath: AnyKeyPath, of type: TypedObject.Type) throws(FetchPredicateError) -> PropertyPath {
        let key = CachedKeyPath(type: ObjectIdentifier(type), keyPath: keyPath)
        if let known = cache.withLock({ $0[key] }) { return known }
        let found = try find(keyPath, of: type)
        // Those that are refused are not kept, so that the cache is no longer than the program.
        cache.withLock { $0[key] = found }
        return found
    }

    private static func find(
        _ keyPath: AnyKeyPath, of type: TypedObject.Type
    ) throws(FetchPredicateError) -> PropertyPath {
        let trace = Trace()
        let object = type.init(TypedObject.Backing(content: .probe(KeyPathProbe(trace, []))))
        let value = object[keyPath: keyPath]
        // One way, a step longer each time, without a turn back.
        let isOneWay = trace.ways.enumerated().allSatisfy { index, way in
            way.count == index + 1 && way.dropLast().elementsEqual(index > 0 ? trace.ways[index - 1] : [], by: ===)
        }
        guard isOneWay, let way = trace.ways.last, let last = way.last, let value,
            !way.dropLast().contains(where: { $0.kind == .toMany })
        else { throw unsupported(keyPath, type) }
        let names = way.map(\.name)
        switch last.content {
        case .attribute(let content, _):
            // What was made of the value is another one, or of another type.
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

    /// Tells whether a value is the one that the probe gave, and of the attribute's type as a whole: one that is never
    /// missing has had something put in the place of nil.
    private static func isSample(_ value: Any, _ valueType: Any.Type, of type: any AttributeValue.Type) -> Bool {
        func isSame<Content: AttributeValue>(_ type: Content.Type) -> Bool {
            guard valueType == Content.self || valueType == Optional<Content>.self else { return false }
            if let value = value as? Content { return value == Content.sample }
            return false
        }
        return isSame(type)
    }

    private static func unsupported(_ keyPath: AnyKeyPath, _ type: TypedObject.Type) -> FetchPredicateError {
        FetchPredicateError(
            .unsupported, "A key path of \(type) leads to no declared property (\(keyPath))", at: nil,
            remedy: "Let it end at a property declared with @Identity, @Field, @Derived, @ToOne or @ToMany, or at the "
                + "count of a @ToMany; reach what lies behind a @ToMany by .any, .all or .none")
    }

    /// `@unchecked`: a key path is only hashed and compared here, and never changes.
    private struct CachedKeyPath: Hashable, @unchecked Sendable {
        let type: ObjectIdentifier
        let keyPath: AnyKeyPath
    }

    private static let cache = Mutex<[CachedKeyPath: PropertyPath]>([:])
}
