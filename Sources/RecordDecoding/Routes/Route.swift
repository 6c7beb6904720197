import GraphCore

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
    /// The program that makes events of the records, or nil.
    let program: RecordProgram?
    let entity: Entity
    let verb: ObjectOperation.Kind?
    /// How values that the program makes are written, by entity; empty where they are as their types say.
    let programTables: [ObjectDecoder.PropertyTable]
    /// The path of the array whose elements are the records, or nil.
    let each: RecordPath?
    /// The expression of the identity, or nil for the model's identity attribute.
    let identity: RouteExpression?
    let identityPrefix: String?
    /// The relationships whose identities get the prefix, by index.
    let prefixedReferences: Set<Int>
    let data: RecordPath
    let typeField: RouteExpression?
    let timeField: RouteExpression?
    let properties: ObjectDecoder.PropertyTable
    let made: RouteValues
    let splits: [RouteSplit]
    /// How values are read.
    private(set) var values: ValueDecoding
    /// Routes that make further objects of the record.
    private(set) var also: [Route]
    /// The place among all routes of a decoder; the routes of `also` stand behind the route that has them.
    private(set) var position = 0
    /// Whether the properties' keys and the constants say it all.
    let isPlain: Bool
    /// The configuration, for reports.
    let configuration: RouteConfiguration

    /// Resolves a route.
    ///
    /// - Parameters:
    ///   - place: names the topic or file in errors, as in "topic chat-events".
    ///   - takesColumns: whether columns of tables stand for properties, in the spellings of databases.
    ///   - nullValues: the texts that stand for null.
    /// - Throws: ``RouteError``.
    init(
        _ route: RouteConfiguration, model: ObjectModel, place: String, takesColumns: Bool = false,
        nullValues: [String] = [], limits: LimitConfiguration = LimitConfiguration()
    ) throws {
        let resolver = RouteResolver(place: place, at: route.place)
        configuration = route
        isDrop = route.verb == .drop
        program = try route.program.map { try RecordProgram($0, place: place, limits: limits) }
        programTables = route.program == nil ? [] : try resolver.programTables(route, model)
        each = try route.each.map { text throws(RouteError) in try resolver.path(text, for: "each") }
        entity = try resolver.entity(of: route, model)
        (topic, type, table) = (route.topic, route.type, route.table)
        headers = route.headers.sorted { $0.key < $1.key }.map { ($0.key, Array($0.value.utf8)) }
        condition = try resolver.condition(route.condition, named: "where")
        filter = try resolver.condition(route.filter, named: "filter")
        verb = route.verb.flatMap { $0 == .delete ? .delete : $0 == .upsert ? .upsert : nil }
        identity = try resolver.identity(route.identity)
        identityPrefix = route.identityPrefix
        prefixedReferences = try resolver.references(route.prefixReferences, entity)
        data = try resolver.path(route.data, for: "data")
        typeField = try resolver.optional(route.typeField, for: "typeField")
        timeField = try resolver.optional(route.timeField, for: "timeField")
        let pattern = try resolver.pattern(route.datePattern, zone: route.zone, for: "dates")
        values = ValueDecoding(dates: route.dates, rules: ValueRules(nulls: nullValues, dates: pattern))
        made = try resolver.values(
            constants: route.constants, defaults: route.defaults, fields: route.fields, add: route.add,
            remove: route.remove, entity, model)
        try resolver.check(aliases: route.aliases, entity)
        splits = try route.splits.map { [entity] split throws(RouteError) in
            try RouteSplit(split, parent: entity, model: model, place: place, zone: route.zone)
        }
        properties = try Self.properties(
            route, resolver, entity, model, data: data, made: made, splits: splits,
            expressions: [identity, typeField, timeField].compactMap { $0 }, takesColumns: takesColumns)
        also = try route.also.map { further in
            try resolver.checkFurther(further)
            return try Route(further, model: model, place: place, takesColumns: takesColumns, nullValues: nullValues)
        }
        isPlain = properties.isPlain && made.isPlain && splits.isEmpty && prefixedReferences.isEmpty
    }

    /// Returns the meaning of each key of the data, with the forms of values and the splits.
    ///
    /// - Parameter expressions: the expressions of the identity, the type and the time.
    private static func properties(
        _ route: RouteConfiguration, _ resolver: RouteResolver, _ entity: Entity, _ model: ObjectModel,
        data: RecordPath, made: RouteValues, splits: [RouteSplit], expressions: [RouteExpression], takesColumns: Bool
    ) throws(RouteError) -> ObjectDecoder.PropertyTable {
        let used = (expressions + made.expressions).flatMap(\.paths) + splits.map(\.path)
        let keys = used.compactMap { data.isEmpty ? $0.firstKey : $0.relative(to: data)?.firstKey }
        var properties = Self.properties(route, entity, used: keys, takesColumns: takesColumns)
        for name in made.givenNames { properties.properties[name] = .ignored }
        // The types of a route with a program are about the events that the program makes.
        if route.program == nil {
            properties.forms = try resolver.forms(
                route.types, patterns: route.typePatterns, zone: route.zone, entity, model, names: properties)
        }
        for (index, split) in splits.enumerated() {
            // A key of the data, from the record's root or, as it once was read, from the data itself.
            let inside = data.isEmpty ? split.path : split.path.relative(to: data) ?? split.path
            if let key = inside.onlyKey { properties.splits[key] = (properties.splits[key] ?? []) + [index] }
            // An object around the array may have the name of the relationship that the split feeds.
            if inside.steps.count > 1, let key = inside.firstKey, let fed = split.parentRelationship,
                entity.relationship(named: key)?.index == fed
            {
                properties.properties[key] = .ignored
            }
        }
        return properties
    }

    /// Returns the meaning of each key of the data.
    ///
    /// - Parameter used: the first keys of the route's paths.
    private static func properties(
        _ route: RouteConfiguration, _ entity: Entity, used: [String], takesColumns: Bool
    ) -> ObjectDecoder.PropertyTable {
        let ignoresUnknown = route.ignore.contains("*")
        let ignore = route.ignore.filter { $0 != "*" }
        var ignored = ignore
        if route.data == nil { ignored.append(RouteScope.rowNumberMember) }
        // The fields that the route finds by its paths stand beside the properties.
        ignored += used
        var known = Set(entity.propertyNames).union(route.aliases.keys)
        if takesColumns { known.formUnion(ObjectDecoder.PropertyTable.columns(entity)) }
        ignored = ignored.filter { !known.contains($0) } + ignore
        // Where the route says what the identity is, the data does not.
        if route.identity != nil {
            let name = entity.identity.name
            ignored += [name] + route.aliases.filter { $0.value == name }.keys
        }
        var table = ObjectDecoder.table(entity, aliases: route.aliases, ignored: ignored)
        table.ignoresUnknown = ignoresUnknown
        if takesColumns { table.addColumns(entity, aliases: route.aliases) }
        return table
    }

    /// Returns the route for rows of a CSV file, whose fields are texts.
    func takingTexts() -> Route {
        var route = self
        route.values.takesTexts = true
        route.also = also.map { $0.takingTexts() }
        return route
    }

    /// Numbers routes in their order.
    static func numbered(_ routes: [Route], from next: inout Int) -> [Route] {
        routes.map { route in
            var route = route
            route.position = next
            next += 1
            route.also = numbered(route.also, from: &next)
            return route
        }
    }

    /// The type that the record states, or nil.
    func type(in scope: RouteScope) throws(DecodeError) -> String? {
        guard let typeField else { return nil }
        if let path = typeField.path { return scope.base.member(at: path)?.string }
        guard case .text(let text) = try typeField.text(in: scope) else { return nil }
        return text
    }

    /// Tells whether a record without a value deletes the same object by both routes.
    func deletesLike(_ other: Route) -> Bool {
        entity === other.entity && isDrop == other.isDrop && identity?.source == other.identity?.source
            && identityPrefix == other.identityPrefix && program == nil && other.program == nil
    }

    /// Tells whether the route's filter holds for a record's value, or there is none.
    func filterHolds(in scope: RouteScope) -> Bool {
        filter?.holds(for: scope.root, schema: scope.rootSchema) ?? true
    }

    /// Tells whether the route takes events of a type.
    func takes(type wanted: String?) -> Bool {
        guard let type else { return true }
        return wanted.map(type.hasSameBytes) ?? false
    }

    /// Tells whether the route takes a record with this topic, headers and fields, whatever the record's type.
    ///
    /// - Parameters:
    ///   - fields: where the condition's paths begin.
    ///   - schema: what the record says of those fields.
    func takes(_ record: SourceRecord, fields: JSONValue?, schema: JSONValue? = nil) -> Bool {
        let name = record.place.topic
        if let topic, topic != name, !TextPatterns.matches(name, like: topic) { return false }
        for (name, value) in headers where !record.headers.contains(where: { $0.isNamed(name) && $0.value == value }) {
            return false
        }
        guard let condition else { return true }
        return fields.map { condition.holds(for: $0, schema: schema) } ?? false
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
    /// The spellings of databases that may stand for properties and references of an entity.
    fileprivate static func columns(_ entity: Entity) -> Set<String> {
        let references = entity.relationships.filter { !$0.isToMany }
        return Set(
            entity.propertyNames.flatMap(ColumnNames.spellings(of:))
                + references.flatMap { ColumnNames.references(of: $0.name) })
    }

    /// Lets columns stand for properties in the spellings of databases, where the name means nothing else.
    mutating func addColumns(_ entity: Entity, aliases: [String: String] = [:]) {
        // In an order, for two names that differ by case only have spellings in common.
        for (name, property) in properties.sorted {
            for spelling in ColumnNames.spellings(of: name) where properties[spelling] == nil {
                properties[spelling] = property
            }
        }
        for relationship in entity.relationships where !relationship.isToMany {
            let names = [relationship.name] + aliases.filter { $0.value == relationship.name }.keys.sorted()
            for column in names.flatMap(ColumnNames.references(of:)) where properties[column] == nil {
                properties[column] = .relationship(relationship.index)
            }
        }
    }
}
