/// A result of a fetch: copies of property values, independent of the store.
public protocol FetchedContents: Sendable, CustomStringConvertible {
    /// The fetched properties.
    var shape: FetchShape { get }
    /// One content for each column of the shape.
    var contents: [FetchedContent] { get }
    /// Appends the contents as one JSON object.
    func appendJSON(to output: inout String)
}

/// The content of a property.
public enum FetchedContent: Sendable, Hashable {
    /// A value in stored form; for a to-one relationship, the destination's identity.
    case value(Value)
    /// The identities of a to-many relationship's destinations, in their order or else sorted.
    case list([Value])
}

extension FetchedContents {
    /// Returns a property's value in stored form, or nil if the property was not fetched or is a list.
    public subscript(name: String) -> Value? {
        guard let position = shape.position(of: name), case .value(let value) = contents[position] else { return nil }
        return value
    }

    /// Returns a property's value as a Swift type, or nil for a missing value.
    ///
    /// - Throws: ``EditingError``: `editing.unknown_property` if the property was not fetched or is a list,
    ///   `editing.type` if the property has another type.
    public func value<Content: AttributeValue>(_ name: String, as type: Content.Type) throws -> Content? {
        guard let position = shape.position(of: name), case .value(let stored) = contents[position] else {
            throw EditingError(
                .unknownProperty,
                "'\(name)' of \(shape.entity.name) was not fetched. "
                    + ClosestName.remedy(name, among: shape.columns.filter { !$0.isToMany }.map(\.name)))
        }
        return try shape.columns[position].type.read(stored, as: type, property: "\(shape.entity.name).\(name)")
    }

    /// The properties in readable form: dates as ISO-8601, UUIDs with hyphens.
    public var description: String {
        let listing = AttributeType.listing(zip(shape.columns, contents).map { ($0.name, $0.type, $1) })
        return "\(shape.entity.name)(\(listing))"
    }

    /// Returns the identities of a to-many relationship's destinations, or nil if it was not fetched.
    public func identities(of name: String) -> [Value]? {
        guard let position = shape.position(of: name), case .list(let values) = contents[position] else { return nil }
        return values
    }

    /// Appends the properties in the order of the shape, with commas between.
    func appendProperties(to output: inout String) {
        for (position, column) in shape.columns.enumerated() {
            if position > 0 { output += "," }
            JSONText.append(column.name, to: &output)
            output += ":"
            switch contents[position] {
            case .value(let value): column.type.appendJSON(value, to: &output)
            case .list(let values): append(values, column.type, to: &output)
            }
        }
    }

    private func append(_ values: [Value], _ type: AttributeType, to output: inout String) {
        output += "["
        for (index, value) in values.enumerated() {
            if index > 0 { output += "," }
            type.appendJSON(value, to: &output)
        }
        output += "]"
    }
}

/// A fetched object: a copy, independent of the store.
public struct FetchedObject: FetchedContents {
    /// The content of a property.
    public typealias Content = FetchedContent

    /// The fetched properties.
    public let shape: FetchShape
    /// The object's own entity: the request's entity or a sub-entity.
    public let entity: Entity
    /// The object's primary key in its table.
    public let pk: Int64
    /// Tells whether the object is a placeholder: events refer to it, and it has not arrived.
    public let isPlaceholder: Bool
    /// One content for each column of the shape.
    public let contents: [FetchedContent]

    package init(shape: FetchShape, entity: Entity, pk: Int64, isPlaceholder: Bool, contents: [FetchedContent]) {
        self.shape = shape
        self.entity = entity
        self.pk = pk
        self.isPlaceholder = isPlaceholder
        self.contents = contents
    }

    /// Appends the object as one JSON object: its properties in the order of the shape, and `"_placeholder": true` for
    /// a placeholder.
    public func appendJSON(to output: inout String) {
        output += "{"
        appendProperties(to: &output)
        if isPlaceholder { output += shape.columns.isEmpty ? "\"_placeholder\":true" : ",\"_placeholder\":true" }
        output += "}"
    }
}

/// A fetched row, which Core Data calls a dictionary result.
public struct FetchedRow: FetchedContents {
    /// The fetched properties.
    public let shape: FetchShape
    /// One content for each column of the shape.
    public let contents: [FetchedContent]

    package init(shape: FetchShape, contents: [FetchedContent]) {
        self.shape = shape
        self.contents = contents
    }

    /// Appends the row as one JSON object, its properties in the order of the shape.
    public func appendJSON(to output: inout String) {
        output += "{"
        appendProperties(to: &output)
        output += "}"
    }
}

/// A page of fetched objects.
public struct FetchedPage: Sendable {
    /// The objects, in the order of the request, at most as many as its limit.
    public let objects: [FetchedObject]
    /// The position after the last object, for ``FetchRequest/after``; nil on the last page.
    public let next: String?
}
