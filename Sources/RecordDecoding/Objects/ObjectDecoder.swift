import GraphCore

/// Turns the properties of an event's object into operations: the nested objects' first, its own last.
struct ObjectDecoder {
    let model: ObjectModel
    private let elements: ElementCount
    /// The texts of references: many records name the same few objects.
    private let referenceTexts = TextCache()
    /// How nested objects are read, one for each entity.
    let tables: [PropertyTable]
    /// How rows are read that no route takes, one for each entity. Equal to `tables` where records hold no rows.
    let columns: [PropertyTable]

    /// The meaning of a key of an event's data.
    enum Property: Equatable {
        case identity
        case attribute(Int)
        case relationship(Int)
        /// An attribute without a column, by its position among those.
        case transient(Int)
        case ignored
    }

    /// The keys that an entity's objects may have.
    struct PropertyTable {
        var properties: NameTable<Property>
        /// How values are written, by key.
        var forms: [String: ValueReading] = [:]
        /// The arrays that are taken apart, by key.
        var splits = NameTable<[Int]>()
        /// Whether keys that mean nothing are passed over.
        var ignoresUnknown = false

        /// The property that a name of the model, or else a key, stands for; nil where it is neither.
        func meaning(of name: String, in entity: Entity) -> Property? {
            // A property that the route gives by an expression is no key of the data.
            ObjectDecoder.table(entity).properties[name] ?? properties[name]
        }

        /// The keys that stand for a property, in their order.
        func keys(of property: Property?) -> [String] {
            properties.sorted.filter { $0.element == property }.map(\.name)
        }

        /// Whether the keys are all there is to say.
        var isPlain: Bool { forms.isEmpty && splits.count == 0 && !ignoresUnknown }
    }

    /// The circumstances that an event's objects share.
    struct Circumstances {
        /// When the event happened, in microseconds since 1970 UTC, or nil.
        var time: Int64?
        var values = ValueDecoding()
        /// Whether a number may stand where an identity is a text.
        var takesNumbersForTexts = false
        /// Whether numbers, booleans and dates may be written as MySQL's texts, and booleans as 0 and 1.
        var takesTexts = false
        /// Whether Debezium's mark of a value that it was not given stands for an absent one.
        var leavesOutUnavailable = false
    }

    init(model: ObjectModel, takesColumns: Bool, elements: ElementCount) {
        self.model = model
        self.elements = elements
        tables = model.entities.map { Self.table($0) }
        columns = takesColumns ? model.entities.map { Self.columnTable($0) } : tables
    }

    static func table(
        _ entity: Entity, aliases: [String: String] = [:], ignored: [String] = []
    ) -> PropertyTable {
        var properties = NameTable<Property>()
        for attribute in entity.attributes {
            // A derived value follows from others; what an event says of it has no effect.
            properties[attribute.name] = attribute.isDerived ? .ignored : .attribute(attribute.slot)
        }
        properties[entity.identity.name] = .identity
        for attribute in entity.transientAttributes { properties[attribute.name] = .transient(attribute.slot) }
        for relationship in entity.transientRelationships { properties[relationship.name] = .ignored }
        for relationship in entity.relationships {
            properties[relationship.name] = .relationship(relationship.index)
        }
        for (alias, name) in aliases { properties[alias] = properties[name] }
        for name in ignored { properties[name] = .ignored }
        return PropertyTable(properties: properties)
    }

    /// The keys that rows of an entity's table may have.
    static func columnTable(_ entity: Entity) -> PropertyTable {
        var table = table(entity)
        table.addColumns(entity)
        return table
    }

    /// Decodes an object.
    ///
    /// - Parameters:
    ///   - keys: the keys of the outermost object, where a route gives other ones.
    ///   - identity: the identity to use where the object states none.
    func decode(
        _ json: JSONValue, entity named: Entity, kind: ObjectOperation.Kind, _ circumstances: Circumstances,
        keys: NameTable<Property>? = nil, identity: Value = .null, into operations: inout [ObjectOperation]
    ) throws(DecodeError) -> Value {
        guard json.kind == .object else {
            throw DecodeError(code: "decode.type", "The data of a \(named.name) has to be a JSON object")
        }
        let entity = try ownEntity(json, named)
        var operation = ObjectOperation(kind, entity: entity.index, identity: identity)
        operation.time = circumstances.time
        if kind == .upsert { operation.reserve(members: json.count, of: entity) }
        let properties = keys ?? tables[named.index].properties
        var faults = FieldFaults()
        for (key, value) in json.members {
            guard let property = properties[utf8: key] ?? self.property(key, of: entity, below: named, in: tables)
            else {
                try faults.add(unknown(JSONValue.text(key), entity))
                continue
            }
            do throws(DecodeError) {
                try assign(
                    value, property, of: entity, circumstances, JSONValue.text(key), &operation, into: &operations)
            } catch {
                try faults.add(error)
            }
        }
        try faults.check()
        try finish(&operation, circumstances)
        let own = operation.identity
        if operations.isEmpty { operations = [consume operation] } else { operations.append(consume operation) }
        return own
    }

    /// Gives an operation the value of one field.
    @inline(__always)
    private func assign(
        _ value: JSONValue, _ property: Property, of entity: Entity, _ circumstances: Circumstances,
        _ name: @autoclosure () -> String, _ operation: inout ObjectOperation,
        into operations: inout [ObjectOperation]
    ) throws(DecodeError) {
        switch property {
        case .ignored: return
        case .identity: operation.identity = try identity(value, entity: entity, circumstances, name())
        case .attribute(let slot):
            let stored = try attributeValue(value, entity.attributes[slot], entity, circumstances, name())
            if slot == entity.versionSlot { operation.version = stored }
            if operation.kind == .upsert { operation.attributes.append(.init(slot: slot, value: stored)) }
        case .transient(let slot):
            let stored = try attributeValue(value, entity.transientAttributes[slot], entity, circumstances, name())
            if operation.kind == .upsert { operation.transients.append(.init(slot: slot, value: stored)) }
        case .relationship(let index):
            if operation.kind == .delete { return }
            let change = try change(value, entity.relationships[index], circumstances, name(), into: &operations)
            operation.relationships.append(.init(relationship: index, change: change))
        }
    }

    /// The key under which an object of a hierarchy may name its own entity.
    private static let entityMember: StaticString = "_entity"
    private static let entityMemberName = "\(entityMember)"

    /// Returns the meaning of a key for an object that may name its entity, where the expected entity knows none.
    ///
    /// The slots of a hierarchy are the same for all its entities.
    func property(
        _ key: UnsafeBufferPointer<UInt8>, of entity: Entity, below expected: Entity, in tables: [PropertyTable]
    ) -> Property? {
        guard expected.sharesTable else { return nil }
        if UnsafeRawBufferPointer(key).hasSameBytes(as: Self.entityMember) { return .ignored }
        return entity === expected ? nil : tables[entity.index].properties[utf8: key]
    }

    /// Returns the entity that an object names as its own, which has to be the expected one or below it.
    func ownEntity(_ json: JSONValue, _ expected: Entity) throws(DecodeError) -> Entity {
        guard expected.sharesTable, let member = json.member(Self.entityMember),
            expected.attribute(named: Self.entityMemberName) == nil,
            expected.relationship(named: Self.entityMemberName) == nil
        else { return expected }
        if let entity = member.string.flatMap({ model.entity(matching: $0) }), entity.isKind(of: expected) {
            return entity
        }
        let known = model.kindNames(expected)
        throw DecodeError(
            code: "decode.unknown_entity",
            "'\(Self.entityMember)' of a \(expected.name) has to be \(known.joined(separator: " or "))")
    }

    /// Checks that the identity is there, and lets the event's time stand in for a version.
    func finish(_ operation: inout ObjectOperation, _ circumstances: Circumstances) throws(DecodeError) {
        let entity = model.entities[operation.entity]
        if operation.identity.isNull {
            throw DecodeError(
                code: "decode.missing_identity",
                "The \(entity.name) has no '\(entity.identity.name)', which identifies it; send it with every event")
        }
        if operation.version.isNull, let slot = entity.versionSlot, entity.attributes[slot].type == .date,
            let time = circumstances.time
        {
            operation.version = .integer(time)
        }
    }

    private func attributeValue(
        _ json: JSONValue, _ attribute: Attribute, _ entity: Entity, _ circumstances: Circumstances,
        _ name: @autoclosure () -> String
    ) throws(DecodeError) -> Value {
        if let value = circumstances.values.value(json, for: attribute.type) { return value }
        throw wrongType(json, attribute, entity, circumstances, name())
    }

    func wrongType(
        _ json: JSONValue, _ attribute: Attribute, _ entity: Entity, _ circumstances: Circumstances, _ name: String,
        expectation: String? = nil
    ) -> DecodeError {
        let wanted = expectation ?? circumstances.values.expectation(attribute.type)
        let found = attribute.isSecret ? Self.article(json) : Self.shown(json)
        var remedy = ""
        if attribute.type == .date, expectation == nil, let number = json.double {
            let likely = attribute.isSecret ? TimeUnit.milliseconds : TimeUnit.likely(for: number)
            if let unit = likely, unit != circumstances.values.dates.unit {
                remedy = ". State its unit in a route: types: { \(attribute.name): \(unit) }"
            }
        }
        return DecodeError(
            code: "decode.type", "\(entity.name).\(name) has to be \(wanted), not \(found)\(remedy)")
    }

    func identity(
        _ json: JSONValue, entity: Entity, _ circumstances: Circumstances, _ name: @autoclosure () -> String,
        _ texts: TextCache? = nil
    ) throws(DecodeError) -> Value {
        if let value = circumstances.values.value(json, for: entity.identity.type, texts), !value.isNull {
            return value
        }
        if circumstances.takesNumbersForTexts, entity.identity.type == .string, let number = json.wholeNumberText {
            return .text(number)
        }
        throw wrongIdentity(json, entity, circumstances, name())
    }

    func wrongIdentity(
        _ json: JSONValue, _ entity: Entity, _ circumstances: Circumstances, _ name: String
    ) -> DecodeError {
        DecodeError(
            code: "decode.identity",
            "\(name) names a \(entity.name) by its \(entity.identity.name), which has to be "
                + "\(circumstances.values.expectation(entity.identity.type)), not "
                + (entity.identity.isSecret ? Self.article(json) : Self.shown(json)))
    }

    // MARK: Relationships

    func change(
        _ json: JSONValue, _ relationship: Relationship, _ circumstances: Circumstances,
        _ name: @autoclosure () -> String, into operations: inout [ObjectOperation]
    ) throws(DecodeError) -> RelationshipChange {
        let destination = model.entities[relationship.destinationIndex]
        if !relationship.isToMany {
            if circumstances.values.isNull(json) { return .one(.null) }
            if json.kind == .array {
                throw DecodeError(
                    code: "decode.relationship", "\(name()) leads to one \(destination.name); send one, not an array")
            }
            if json.kind == .object { try elements.add(1) }
            return .one(try reference(json, destination, circumstances, name(), into: &operations))
        }
        if circumstances.values.isNull(json) { return .replace([]) }
        switch json.kind {
        case .array: return .replace(try references(json, destination, circumstances, name(), into: &operations))
        case .object: return try edit(json, destination, circumstances, name(), into: &operations)
        default:
            throw DecodeError(
                code: "decode.relationship",
                "\(name()) leads to many; send an array of identities or objects, or an object with 'add' and 'remove'")
        }
    }

    private func edit(
        _ json: JSONValue, _ destination: Entity, _ circumstances: Circumstances, _ name: @autoclosure () -> String,
        into operations: inout [ObjectOperation]
    ) throws(DecodeError) -> RelationshipChange {
        var add: [Value] = []
        var remove: [Value] = []
        for (key, value) in json.members {
            let part = String(decoding: key, as: UTF8.self)
            guard part == "add" || part == "remove", value.kind == .array else {
                throw DecodeError(
                    code: "decode.relationship",
                    "\(name()) leads to many; its object may hold the arrays 'add' and 'remove', nothing else")
            }
            if part == "add" {
                add += try references(value, destination, circumstances, name(), into: &operations)
            } else {
                try elements.add(value.count)
                for element in value.elements {
                    remove.append(
                        try identity(element, entity: destination, circumstances, name(), referenceTexts))
                }
            }
        }
        return .edit(add: add, remove: remove)
    }

    private func references(
        _ json: JSONValue, _ destination: Entity, _ circumstances: Circumstances, _ name: @autoclosure () -> String,
        into operations: inout [ObjectOperation]
    ) throws(DecodeError) -> [Value] {
        try elements.add(json.count)
        var identities: [Value] = []
        for element in json.elements {
            identities.append(try reference(element, destination, circumstances, name(), into: &operations))
        }
        return identities
    }

    /// An identity, or a nested object: upserted, unless it holds nothing but its identity.
    private func reference(
        _ json: JSONValue, _ destination: Entity, _ circumstances: Circumstances, _ name: @autoclosure () -> String,
        into operations: inout [ObjectOperation]
    ) throws(DecodeError) -> Value {
        guard json.kind == .object else {
            return try identity(json, entity: destination, circumstances, name(), referenceTexts)
        }
        if json.count == 1, let only = json.member(named: destination.identity.name) {
            return try identity(only, entity: destination, circumstances, name(), referenceTexts)
        }
        return try decode(json, entity: destination, kind: .upsert, circumstances, into: &operations)
    }

    // MARK: Messages

    func unknown(_ name: String, _ entity: Entity) -> DecodeError {
        let known = tables[entity.index].properties.sorted.map(\.name)
        let hint = ClosestName.find(name, among: known).map { "; did you mean '\($0)'?" } ?? "."
        return DecodeError(
            code: "decode.unknown_property",
            "\(entity.name) has no property \(DecodeError.shown(name))\(hint) Correct the event, or give the topic a route "
                + "with an alias or 'ignore'")
    }

    /// A value's kind and its beginning, for messages about attributes that are no secrets.
    static func shown(_ json: JSONValue) -> String {
        switch json.kind {
        case .string: "\(article(json)): \(DecodeError.shownValue(json.string ?? ""))"
        case .integer, .unsignedInteger, .double:
            "\(article(json)): \(json.numberText ?? "")"
        case .object, .array, .boolean, .null: article(json)
        }
    }

    static func article(_ json: JSONValue) -> String {
        switch json.kind {
        case .object: "an object"
        case .array: "an array"
        case .string: "this text"
        case .integer, .unsignedInteger, .double: "this number"
        case .boolean: "a boolean"
        case .null: "null"
        }
    }
}
