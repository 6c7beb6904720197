import RecordDecoding
import RecordFiles

/// The records that a survey passes over for one reason.
package struct PassedOver: Sendable, Equatable {
    /// The number of the records.
    package var count = 0
    /// The line of the first, where the reason is about lines.
    package var firstLine: Int?
}

/// Describes the records of one file, the elements of one nested array, or the objects in one field.
package struct EntityProfile: Sendable {
    /// The path of the file.
    package let path: String
    /// The files' name in the configuration, which may have a `*`; nil for the name of the path.
    var match: String?
    /// The entity's name where several files are parts of one table; nil to name it by the path.
    var stem: String?
    /// The number of files.
    var partCount = 1
    /// The topic of the records where the file names it, else nil.
    package let topic: String?
    /// The field that the elements or objects stand in; nil for a file's records.
    package let field: String?
    /// Whether the field holds an object, and never an array.
    package private(set) var isSingle = false
    /// Whether the records are rows of a table.
    package let isTable: Bool
    /// The number of records.
    package var recordCount = 0
    /// The rows without a value, which are passed over.
    package var emptyCount = 0
    /// The records that were passed over because they are broken, by reason.
    package var faults: [String: PassedOver] = [:]
    /// The columns in the order in which they came.
    package var columns: [ColumnProfile] = []
    /// The arrays of objects and the objects, by field.
    package var children: [EntityProfile] = []
    /// The columns that identify together where none does alone; none where there are no such.
    package var composite: CompositeIdentity?
    /// The column whose values come again in later versions of an object; nil where there is none.
    package var repeated: RepeatedIdentity?
    /// The records without a value, each of which deletes an object.
    package var deletions = 0
    /// Whether records are arrays of events.
    package var hasArrays = false
    /// Whether records have the schema wrapper of Kafka Connect.
    package private(set) var isWrapped = false
    /// The keys of the records.
    package var keys: KeyProfile

    /// The name that an entity of these records has.
    var name: String {
        if let topic, field == nil { return InferredNames.entity(topic) }
        let file = path.split(separator: "/").last.map(String.init) ?? "records"
        return InferredNames.entity(field ?? stem ?? String(file.prefix { $0 != "." }))
    }

    private var numbers: [String: Int] = [:]
    private var childNumbers: [String: Int] = [:]
    private let distinctLimit: Int
    /// Whether the records, or an entity below, have more fields than the profile takes.
    var hasMoreColumns: Bool { isCut || entities.contains(where: \.hasMoreColumns) }
    private var isCut = false
    /// The most fields of an entity, and the most children; the profile only notes that there are further ones.
    package static let columnLimit = 2_000

    /// Makes an empty profile.
    package init(
        path: String, topic: String? = nil, field: String? = nil, isSingle: Bool = false, isTable: Bool,
        distinctLimit: Int = 200_000
    ) {
        self.path = path
        self.topic = topic
        self.field = field
        self.isSingle = isSingle
        self.isTable = isTable
        self.distinctLimit = distinctLimit
        keys = KeyProfile(distinctLimit: distinctLimit)
    }

    /// Makes sure that there is a column, as for a header without rows.
    @discardableResult
    package mutating func column(_ name: String) -> Int? {
        if let number = numbers[name] { return number }
        guard columns.count < Self.columnLimit else {
            isCut = true
            return nil
        }
        numbers[name] = columns.count
        columns.append(ColumnProfile(name: name, isJSON: !isTable, distinctLimit: distinctLimit))
        return columns.count - 1
    }

    /// Adds the value of a column.
    package mutating func add(_ text: String, _ shape: ValueShape, to name: String) {
        guard let number = column(name) else { return }
        columns[number].add(text, shape)
    }

    /// Adds the fields of a JSON object. Nested objects, and arrays of objects, become children; other nested values
    /// stay JSON.
    package mutating func add(_ json: JSONValue) { add(json, schema: nil) }

    /// Adds the fields of a JSON object whose schema names the meaning of some fields.
    private mutating func add(_ json: JSONValue, schema: SchemaFields?) {
        var schema = schema
        let connect = schema == nil ? nil : ConnectValues(depthLimit: 100, maximumBytes: 1 << 20)
        recordCount += 1
        for (key, value) in json.members {
            let name = JSONValue.text(key)
            if let type = schema?.schema(of: key).map({ LogicalType($0) }),
                let (text, shape) = Self.meaning(of: value, type, connect)
            {
                add(text, shape, to: name)
                continue
            }
            switch value.kind {
            case .null: add("", .empty, to: name)
            case .boolean: add(value.bool == true ? "true" : "false", .boolean, to: name)
            case .string:
                let text = value.string ?? ""
                add(text, ValueShape(jsonText: text), to: name)
            case .array where field == nil && Self.holdsObjects(value):
                addChildren(value.elements, name, isSingle: false)
            case .object where field == nil:
                add("", .nested, to: name)
                addChildren(CollectionOfOne(value), name, isSingle: true)
            case .object, .array: add("", .nested, to: name)
            case .integer, .unsignedInteger, .double:
                let text = value.numberText ?? ""
                let shape = ValueShape(text: text)
                add(text, shape == .text ? .exponent : shape, to: name)
            }
        }
    }

    /// Adds a record of a topic, or of a file of JSON, without its schema wrapper.
    mutating func add(record: JSONValue) {
        let (payload, schema) = SchemaFields.unwrapped(record)
        if schema != nil { isWrapped = true }
        if payload.isNull { deletions += 1 } else { add(payload, schema: SchemaFields(schema)) }
    }

    /// Counts a record that is passed over.
    mutating func add(fault: String, line: Int?, count: Int = 1) {
        faults[fault, default: PassedOver(firstLine: line)].count += count
    }

    /// Returns the meaning of a Kafka Connect value by its schema, as text. Returns nil where the JSON itself says it.
    private static func meaning(
        of value: JSONValue, _ type: LogicalType, _ connect: ConnectValues?
    ) -> (String, ValueShape)? {
        let shape: ValueShape
        switch type {
        case .instant: shape = .date
        case .decimal, .scaledDecimal: shape = .fractionText
        case .timeOfDay: shape = .text
        case .plain, .bytes, .instantText, .json: return nil
        }
        guard let text = connect?.text(value, type) else { return nil }
        return (text, shape)
    }

    private mutating func child(_ name: String, isSingle: Bool) -> Int? {
        if let number = childNumbers[name] { return number }
        guard children.count < Self.columnLimit else { return nil }
        childNumbers[name] = children.count
        children.append(
            EntityProfile(path: path, field: name, isSingle: isSingle, isTable: false, distinctLimit: distinctLimit))
        return children.count - 1
    }

    private mutating func addChildren(_ elements: some Sequence<JSONValue>, _ name: String, isSingle: Bool) {
        guard let number = child(name, isSingle: isSingle) else { return }
        if !isSingle { children[number].isSingle = false }
        for element in elements { children[number].add(element) }
    }

    /// The children that are entities. Objects whose keys are data, or that stand beside other values, stay JSON.
    package var entities: [EntityProfile] {
        children.filter { child in
            guard child.isSingle, let column = columns.first(where: { $0.name == child.field }) else { return true }
            return column.shapes == [.nested] && column.valueCount == child.recordCount && child.hasFixedKeys
        }
    }

    /// Whether the keys are names of fields: few, each in many of the objects.
    private var hasFixedKeys: Bool {
        guard (1...50).contains(columns.count), columns.allSatisfy({ InferredNames.isField($0.name) }) else {
            return false
        }
        let stated = columns.reduce(0) { $0 + $1.counts.values.reduce(0, +) }
        return columns.count <= 4 || stated * 3 >= recordCount * columns.count
    }

    private static func holdsObjects(_ array: JSONValue) -> Bool {
        array.count > 0 && array.elements.allSatisfy { $0.kind == .object }
    }

    /// Tells whether a column has neither a name nor a value, as those behind the last one of a spreadsheet.
    func isBlank(_ number: Int) -> Bool {
        isTable && columns[number].valueCount == 0 && columns[number].name == NumberedNames.column(number + 1)
    }

    /// Tells whether a column has a value in every record.
    package func isComplete(_ column: ColumnProfile) -> Bool { column.valueCount == recordCount && recordCount > 0 }

    /// The parts of the ISO-8601 dates of these records and the objects in them; nil where none lacks an offset.
    var localParts: DateParts? {
        let dates = datedColumns
        guard dates.contains(where: { $0.shapes.contains(.localDate) }) else { return nil }
        return dates.reduce([]) { $0.union($1.dateParts) }
    }

    private var datedColumns: [ColumnProfile] {
        columns.filter { !$0.shapes.isEmpty && $0.shapes.isSubset(of: [.date, .localDate]) }
            + children.flatMap(\.datedColumns)
    }

    /// Decides which texts that may stand for no value are values: among codes they are. Among other texts they are, unless
    /// the same text stands for no value in a column of numbers or dates.
    mutating func settleMarkers() {
        let texts: Set<ValueShape> = [.text, .nested]
        let missing = Set(
            columns.filter { !$0.shapes.isEmpty && $0.shapes.isDisjoint(with: texts) }.flatMap(\.markers.keys))
        // A column of nothing else says nothing.
        for number in columns.indices where columns[number].shapes.isEmpty || columns[number].shapes.contains(.text) {
            for marker in columns[number].markers.keys where ValueShape.ambiguousMarkers.contains(marker) {
                let isCode = marker == "NA" && columns[number].areCodes
                if isCode || !missing.contains(marker) { columns[number].keep(marker) }
            }
        }
    }

    /// The texts that stand for a missing value, in this entity's columns and in the columns of the arrays below.
    package var nullMarkers: Set<String> {
        children.reduce(Set(columns.flatMap(\.markers.keys))) { $0.union($1.nullMarkers) }
    }
}
