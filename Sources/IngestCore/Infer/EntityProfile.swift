/// Describes the records of one file, or the elements of one nested array.
package struct EntityProfile: Sendable {
    /// The path of the file.
    package let path: String
    /// The field of the array that the elements stand in; nil for a file's records.
    package let field: String?
    /// Whether the records are rows of a table.
    package let isTable: Bool
    /// The number of records.
    package var recordCount = 0
    /// The records that were passed over because they are broken, by reason.
    package var faults: [String: Int] = [:]
    /// The columns in the order in which they came.
    package var columns: [ColumnProfile] = []
    /// The arrays of objects, by field.
    package var children: [EntityProfile] = []

    private var numbers: [String: Int] = [:]
    private let distinctLimit: Int
    /// The most fields of an entity; the profile ignores further ones.
    package static let columnLimit = 2_000

    /// Makes an empty profile.
    package init(path: String, field: String? = nil, isTable: Bool, distinctLimit: Int = 200_000) {
        self.path = path
        self.field = field
        self.isTable = isTable
        self.distinctLimit = distinctLimit
    }

    /// Makes sure that there is a column, as for a header without rows.
    @discardableResult
    package mutating func column(_ name: String) -> Int? {
        if let number = numbers[name] { return number }
        guard columns.count < Self.columnLimit else { return nil }
        numbers[name] = columns.count
        columns.append(ColumnProfile(name: name, distinctLimit: distinctLimit))
        return columns.count - 1
    }

    /// Takes the value of a column.
    package mutating func add(_ text: String, _ shape: ValueShape, to name: String) {
        guard let number = column(name) else { return }
        columns[number].add(text, shape)
    }

    /// Takes the fields of a JSON object; arrays of objects become children, other nested values stay JSON.
    package mutating func add(_ json: JSONValue) {
        recordCount += 1
        for (key, value) in json.members {
            let name = JSONValue.text(key)
            switch value.kind {
            case .null: add("", .empty, to: name)
            case .boolean: add(value.bool == true ? "true" : "false", .boolean, to: name)
            case .string:
                let text = value.string ?? ""
                add(text, ValueShape(jsonText: text), to: name)
            case .array where field == nil && Self.holdsObjects(value): addChildren(value, name)
            case .object, .array: add("", .nested, to: name)
            case .integer, .unsignedInteger, .double:
                let text = RouteConfiguration.ValueForm.text(ofNumber: value) ?? ""
                let shape = ValueShape(text: text)
                add(text, shape == .text ? .exponent : shape, to: name)
            }
        }
    }

    private mutating func addChildren(_ array: JSONValue, _ name: String) {
        let number =
            children.firstIndex { $0.field == name }
            ?? {
                children.append(
                    EntityProfile(path: path, field: name, isTable: false, distinctLimit: distinctLimit))
                return children.count - 1
            }()
        for element in array.elements { children[number].add(element) }
    }

    private static func holdsObjects(_ array: JSONValue) -> Bool {
        array.count > 0 && array.elements.allSatisfy { $0.kind == .object }
    }

    /// Tells whether a column has a value in every record.
    package func isComplete(_ column: ColumnProfile) -> Bool { column.valueCount == recordCount && recordCount > 0 }

    /// The texts that stand for a missing value, in its columns and those of the arrays below.
    package var nullMarkers: Set<String> {
        children.reduce(Set(columns.flatMap(\.markers.keys))) { $0.union($1.nullMarkers) }
    }
}
