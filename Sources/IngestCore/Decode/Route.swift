import ObjectGraph

/// Why a route does not fit the model.
public struct RouteError: CodedError {
    /// The file and line of the configuration, where they are known.
    public var location: String?
    /// The fault and its remedy.
    public let message: String
    /// A stable code for scripts and logs.
    public var code: String { "config.route" }
}

/// A route of the configuration, resolved against the model.
struct Route {
    let topic: String?
    let type: String?
    let table: String?
    let headers: [(name: String, value: [UInt8])]
    let condition: RecordCondition?
    let filter: RecordCondition?
    /// Whether the records are passed over.
    let isDrop: Bool
    let entity: Entity
    let verb: ObjectOperation.Kind?
    let identity: RouteConfiguration.Identity?
    let identityPath: [String]
    let identityPrefix: String?
    let data: [String]
    let typeField: [String]
    let timeField: [String]
    let properties: ObjectDecoder.PropertyTable
    let constants: [ObjectOperation.AttributeValue]
    let defaults: [ObjectOperation.AttributeValue]
    let fields: [Field]
    let splits: [RouteSplit]
    let values: ValueDecoding
    /// Whether the properties' keys and the constants say it all.
    let isPlain: Bool

    /// A property whose value stands at a path of the record.
    struct Field {
        let name: String
        let path: [String]
        let property: ObjectDecoder.Property
    }

    /// Resolves a route.
    ///
    /// - Parameters:
    ///   - place: names the topic or file in errors, as in "topic chat-events".
    ///   - takesColumns: whether columns of tables stand for properties, in the spellings of databases.
    /// - Throws: ``RouteError``.
    init(
        _ route: RouteConfiguration, model: ObjectModel, place: String, takesColumns: Bool = false
    ) throws(RouteError) {
        let resolver = RouteResolver(place: place, at: route.place)
        isDrop = route.verb == .drop
        // A dropped record has no entity; any stands in for it.
        entity = isDrop && route.entity.isEmpty ? model.entities[0] : try resolver.entity(route.entity, model)
        topic = route.topic
        type = route.type
        table = route.table
        headers = route.headers.sorted { $0.key < $1.key }.map { ($0.key, Array($0.value.utf8)) }
        condition = try resolver.condition(route.condition, named: "where")
        filter = try resolver.condition(route.filter, named: "filter")
        verb = route.verb.flatMap { $0 == .delete ? .delete : $0 == .upsert ? .upsert : nil }
        identity = route.identity
        identityPath = if case .field(let field)? = route.identity { Self.path(field) } else { [] }
        identityPrefix = route.identityPrefix
        data = Self.path(route.data)
        typeField = Self.path(route.typeField)
        timeField = Self.path(route.timeField)
        values = ValueDecoding(dates: route.dates)
        constants = try resolver.values(route.constants, entity, what: "constant")
        defaults = try resolver.values(route.defaults, entity, what: "default")
        try resolver.check(aliases: route.aliases, entity)
        var properties = Self.properties(route, entity, identityPath, takesColumns: takesColumns)
        properties.forms = try resolver.forms(route.types, entity, model, names: properties)
        splits = try route.splits.map { [entity] split throws(RouteError) in
            try RouteSplit(split, parent: entity, model: model, place: place)
        }
        for (index, split) in splits.enumerated() { properties.splits[split.field] = index }
        self.properties = properties
        fields = try resolver.fields(route.fields, entity)
        isPlain = properties.isPlain && defaults.isEmpty && fields.isEmpty
    }

    /// Returns the meaning of each key of the data.
    private static func properties(
        _ route: RouteConfiguration, _ entity: Entity, _ identityPath: [String], takesColumns: Bool
    ) -> ObjectDecoder.PropertyTable {
        let ignoresUnknown = route.ignore.contains("*")
        let ignore = route.ignore.filter { $0 != "*" }
        var ignored = ignore
        if route.data == nil {
            ignored.append(RowDecoder.numberMember)
            // The envelope's own members stand beside the properties.
            ignored += [path(route.typeField).first, path(route.timeField).first, identityPath.first].compactMap { $0 }
        }
        let known = Set(entity.propertyNames).union(route.aliases.keys)
        ignored = ignored.filter { !known.contains($0) } + ignore
        // Where the route says what the identity is, the data does not.
        if route.identity != nil {
            let name = entity.identity.name
            ignored += [name] + route.aliases.filter { $0.value == name }.keys
        }
        var table = ObjectDecoder.table(entity, aliases: route.aliases, ignored: ignored)
        table.ignoresUnknown = ignoresUnknown
        if takesColumns { table.addColumns(entity) }
        return table
    }

    static func path(_ text: String?) -> [String] {
        text?.split(separator: ".").map { String($0) } ?? []
    }

    /// Tells whether the route takes events of a type.
    func takes(type wanted: String?) -> Bool { type == nil || type == wanted }

    /// Tells whether a record's topic, headers and fields are those that the route takes; its type aside.
    ///
    /// - Parameter fields: where the condition's paths begin.
    func takes(_ record: SourceRecord, fields: JSONValue?) -> Bool {
        if let topic, topic != record.place.topic, !NamePattern.matches(topic, record.place.topic) { return false }
        for (name, value) in headers where !record.headers.contains(where: { $0.name == name && $0.value == value }) {
            return false
        }
        guard let condition else { return true }
        return fields.map { condition.holds(for: $0) } ?? false
    }

    /// Returns the identity that a record's number gives.
    func rowIdentity(_ number: Int64) -> Value? {
        identityValue(text: String(number), integer: number)
    }

    /// Puts the prefix before an identity and gives it the identity attribute's form; nil where it does not fit.
    func identityValue(text: String, integer: Int64?) -> Value? {
        if let prefix = identityPrefix { return entity.identityValue(fromText: prefix + text) }
        if let integer, let value = entity.identity.type.value(fromInteger: integer) { return value }
        return entity.identityValue(fromText: text)
    }
}

extension Entity {
    /// Returns the identity that a text states, or nil where it is none; NUL ends a text for most readers of a store.
    func identityValue(fromText text: String) -> Value? {
        text.utf8.contains(0) ? nil : identity.type.value(fromText: text)
    }
}

extension ObjectDecoder.PropertyTable {
    /// Lets columns stand for properties in the spellings of databases, where the name means nothing else.
    mutating func addColumns(_ entity: Entity) {
        // In an order, for two names that differ by case only have spellings in common.
        for (name, property) in properties.sorted {
            for spelling in ColumnNames.spellings(of: name) where properties[spelling] == nil {
                properties[spelling] = property
            }
        }
        for relationship in entity.relationships where !relationship.isToMany {
            for column in ColumnNames.references(of: relationship.name) where properties[column] == nil {
                properties[column] = .relationship(relationship.index)
            }
        }
    }
}

extension JSONValue {
    /// Follows a path of keys; nil where a step is missing.
    func member(at path: [String]) -> JSONValue? {
        var value = self
        for key in path {
            guard let next = value.member(named: key) else { return nil }
            value = next
        }
        return value
    }
}
