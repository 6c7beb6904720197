import GraphCore

/// Counts in how many of a sample's records each route found what it names, so that a path that leads nowhere is seen.
package final class RouteUsage {
    /// A part of a route, and how many records had it.
    package struct Part: Sendable, Equatable {
        /// The key of the configuration, such as `timeField` or `split items: alias sku`.
        package let name: String
        /// The value of that key.
        package let value: String
        /// The number of records in which it was found.
        package var records = 0
    }

    /// A route, and what became of it.
    package struct Report: Sendable {
        /// The entity's name, or `drop`.
        package let entity: String
        /// The file, line and column of the route, where they are known.
        package let location: String?
        /// The number of records that it took.
        package var records = 0
        /// Its parts in the order of the documentation.
        package var parts: [Part] = []
        /// Advice on corrections, in sentences.
        package var notices: [String] = []
    }

    private struct Probe {
        let find: (RouteScope, RouteScope, JSONValue?) -> Bool
    }

    /// The routes in their order, each one's `also` behind it.
    package private(set) var reports: [Report] = []
    private var probes: [[Probe]] = []
    /// The position of the route that took the last record; nil where none did.
    package private(set) var position: Int?

    init(_ routes: [Route]) {
        for route in routes { add(route) }
    }

    private func add(_ route: Route) {
        var report = Report(
            entity: route.isDrop
                ? "drop" : route.each != nil ? "each" : route.program == nil ? route.entity.name : "jq",
            location: route.configuration.place.location)
        var probes: [Probe] = []
        func part(_ name: String, _ value: String, _ find: @escaping Finder) {
            report.parts.append(Part(name: name, value: value))
            probes.append(Probe(find: find))
        }
        for (name, condition) in [("where", route.condition), ("filter", route.filter)] {
            for path in condition?.paths ?? [] { part(name, path.text) { scope, _, _ in scope.has(path) } }
        }
        if let data = route.configuration.data { part("data", data) { scope, _, _ in scope.has(route.data) } }
        if let expression = route.typeField {
            part("typeField", expression.source) { scope, _, _ in scope.has(expression) }
        }
        if let expression = route.timeField {
            part("timeField", expression.source) { _, fields, _ in fields.has(expression) }
        }
        if let expression = route.identity {
            part("identity", expression.source) { scope, _, _ in scope.has(expression) }
        }
        for alias in route.configuration.aliases.keys.sorted() {
            part("alias", alias) { _, _, data in data?.member(spelled: alias) != nil }
        }
        for field in route.made.fields {
            part("field \(field.name)", field.expression.source) { _, fields, _ in fields.has(field.expression) }
        }
        for edit in route.made.edits {
            part("\(edit.isRemoval ? "remove" : "add") \(edit.name)", edit.expression.source) { _, fields, _ in
                fields.has(edit.expression)
            }
        }
        addTypes(of: route, part)
        for split in route.splits { addSplit(split, of: route, to: &report, &probes) }
        reports.append(report)
        self.probes.append(probes)
        for further in route.also { add(further) }
    }

    /// Finds the parts of a route's configuration in records: by the scope, by the scope of fields, and by the data.
    private typealias Finder = (RouteScope, RouteScope, JSONValue?) -> Bool

    private func addTypes(of route: Route, _ part: (String, String, @escaping Finder) -> Void) {
        let types = route.configuration.types.mapValues(\.rawValue).merging(route.configuration.typePatterns) { $1 }
        for (name, form) in types.sorted(by: { $0.key < $1.key }) {
            let property = route.properties.meaning(of: name, in: route.entity)
            let keys = route.properties.keys(of: property)
            let expressions = route.made.fields.filter { $0.property == property }.map(\.expression)
            let identity = property == .identity ? route.identity : nil
            part("type \(name)", form) { scope, fields, data in
                keys.contains { data?.member(spelled: $0) != nil } || expressions.contains { fields.has($0) }
                    || identity.map { scope.has($0) } ?? false
            }
        }
        for (name, value) in route.configuration.constants.sorted(by: { $0.key < $1.key }) {
            if route.made.fields.contains(where: { $0.name == name }) { continue }
            part("constant \(name)", value.text) { _, _, _ in route.verb != .delete }
        }
    }

    /// Counts a record that a route took.
    ///
    /// - Parameters:
    ///   - scope: where conditions and the identity begin.
    ///   - fields: where the paths of `fields` and `timeField` begin.
    func count(_ route: Route, _ scope: RouteScope, fields: RouteScope, data: JSONValue?) {
        count(route)
        for (index, probe) in probes[route.position].enumerated() where probe.find(scope, fields, data) {
            reports[route.position].parts[index].records += 1
        }
    }

    /// Counts a record that a route took and that has no value to look at.
    func count(_ route: Route) {
        reports[route.position].records += 1
        position = position ?? route.position
    }

    /// Forgets which route took the last record.
    package func begin() { position = nil }

    // MARK: Splits

    private func addSplit(_ split: RouteSplit, of route: Route, to report: inout Report, _ probes: inout [Probe]) {
        func found(_ scope: RouteScope, _ data: JSONValue?) -> JSONValue? {
            let inside = split.path.onlyKey.flatMap { data?.member(spelled: $0) }
            return inside ?? scope.base.member(at: split.path)
        }
        report.parts.append(Part(name: "split", value: split.field))
        probes.append(Probe { scope, _, data in found(scope, data) != nil })
        if !route.data.isEmpty, split.path.onlyKey != nil, split.path.relative(to: route.data) == nil {
            report.notices.append(
                "split '\(split.field)' is read inside of '\(route.data.text)' where that has it. Paths begin at the record: "
                    + "write 'field: \(route.data.text).\(split.field)'")
        }
        addParts(of: split, "split \(split.field)", to: &report, &probes) { scope, _, data in
            found(scope, data).map { Self.elements($0, split, scope) } ?? []
        }
    }

    /// Adds the parts that a split looks for in its elements; a record has one where any element has it.
    private func addParts(
        of split: RouteSplit, _ name: String, to report: inout Report, _ probes: inout [Probe],
        elements: @escaping (RouteScope, RouteScope, JSONValue?) -> [RouteScope]
    ) {
        func part(_ key: String, _ value: String, _ find: @escaping (RouteScope) -> Bool) {
            report.parts.append(Part(name: "\(name): \(key)", value: value))
            probes.append(Probe { elements($0, $1, $2).contains(where: find) })
        }
        for path in split.filter?.paths ?? [] { part("filter", path.text) { $0.has(path) } }
        if let identity = split.identity { part("identity", identity.source) { $0.has(identity) } }
        for alias in split.aliasNames { part("alias", alias) { $0.base.member(spelled: alias) != nil } }
        for field in split.made.fields {
            part("field \(field.name)", field.expression.source) { $0.has(field.expression) }
        }
        for (name, form) in split.statedTypes.sorted(by: { $0.key < $1.key }) {
            let property = split.table.meaning(of: name, in: split.entity)
            let keys = split.table.keys(of: property)
            let identity = property == .identity ? split.identity : nil
            let expressions =
                split.made.fields.filter { $0.property == property }.map(\.expression) + [identity].compactMap(\.self)
            part("type \(name)", form) { element in
                keys.contains { element.base.member(spelled: $0) != nil } || expressions.contains { element.has($0) }
            }
        }
        for inner in split.splits {
            func found(_ element: RouteScope) -> JSONValue? {
                inner.path.onlyKey.map { element.base.member(spelled: $0) } ?? element.base.member(at: inner.path)
            }
            part("split", inner.field) { found($0) != nil }
            addParts(of: inner, "\(name).\(inner.field)", to: &report, &probes) { scope, fields, data in
                elements(scope, fields, data).flatMap { element in
                    found(element).map { Self.elements($0, inner, element) } ?? []
                }
            }
        }
    }

    /// The elements of a split, of a long array the first.
    private static func elements(_ value: JSONValue, _ split: RouteSplit, _ scope: RouteScope) -> [RouteScope] {
        var inner = scope
        func element(_ value: JSONValue, _ number: Int, _ name: UnsafeBufferPointer<UInt8>? = nil) -> RouteScope {
            (inner.base, inner.number, inner.name) = (value, number, name)
            return inner
        }
        switch value.kind {
        case .array: return value.elements.prefix(1000).enumerated().map { element($1, $0 + 1) }
        case .object where split.isMap:
            return value.members.prefix(1000).enumerated().map { element($1.value, $0 + 1, $1.key) }
        case .object: return [element(value, 1)]
        default: return []
        }
    }
}

extension JSONValue {
    /// Returns the member whose key is a name in any spelling that Unicode holds to be equal, as a record's reader finds it.
    fileprivate func member(spelled name: String) -> JSONValue? {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return member(named: name) }
        var found: JSONValue?
        for (key, value) in members where JSONValue.text(key) == name { found = value }
        return found
    }
}

extension RouteScope {
    fileprivate func has(_ path: RecordPath) -> Bool { base.member(at: path) != nil }

    fileprivate func has(_ expression: RouteExpression) -> Bool {
        if let path = expression.path { return has(path) }
        guard let found = try? expression.text(in: self) else { return true }
        return found != .absent
    }
}

extension ConfigurationScalar {
    /// The value as the configuration shows it.
    fileprivate var text: String {
        switch self {
        case .null: "null"
        case .boolean(let flag): "\(flag)"
        case .integer(let number): "\(number)"
        case .double(let number): "\(number)"
        case .string(let text): text
        }
    }
}

extension RecordCondition {
    /// The paths that the condition looks at.
    var paths: [RecordPath] {
        switch self {
        case .constant: []
        case .and(let parts), .or(let parts): parts.flatMap(\.paths)
        case .not(let part): part.paths
        case .comparison(let comparison):
            [comparison.left, comparison.right].compactMap { if case .path(let path) = $0 { path } else { nil } }
        }
    }
}
