extension AttributeType {
    /// Returns a stored value as a Swift type, or nil where there is none.
    ///
    /// - Parameter property: the entity and the property, for the error.
    /// - Throws: ``EditingError`` with code `editing.type` where values of the attribute are none of the type.
    package func read<Content: AttributeValue>(
        _ stored: Value, as type: Content.Type, property: String
    ) throws(EditingError) -> Content? {
        if kind != type.attributeTypes.first?.kind {
            throw EditingError(.type, "\(property) holds \(expectation), and was asked for as \(type)")
        }
        if stored.isNull { return nil }
        guard let value = Content(storedValue: stored) else {
            throw EditingError(.type, "\(property) holds a value that \(type) has no room for")
        }
        return value
    }

    /// The types whose values are of one kind in Swift are the same here.
    private var kind: AttributeType {
        switch self {
        case .integer16, .integer32, .integer64: .integer64
        case .float, .double: .double
        case .string, .transformable: .string
        default: self
        }
    }

    /// Lists properties with their values as people read them.
    package static func listing(_ values: [(name: String, type: AttributeType, content: FetchedContent)]) -> String {
        values.map { name, type, content in
            switch content {
            case .value(let value): "\(name): \(type.text(of: value))"
            case .list(let values): "\(name): [\(values.map { type.text(of: $0) }.joined(separator: ", "))]"
            }
        }.joined(separator: ", ")
    }
}
