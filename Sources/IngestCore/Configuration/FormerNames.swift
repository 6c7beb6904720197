import GraphCore
import RecordDecoding

/// The names that entities and properties had before a migration. Events still have them, so routes need lines for them.
struct FormerNames {
    /// An entity with its own and its properties' former names.
    private struct Renaming {
        let entity: Entity
        let formerName: String?
        /// The new names by the former ones.
        var properties: [String: String] = [:]

        /// Whether deletions name the object by former names, too.
        var concernsDeletions: Bool { formerName != nil || properties.values.contains(entity.identity.name) }
    }

    private let renamings: [Renaming]

    init(_ difference: ModelDifference, _ model: ObjectModel) {
        renamings = model.entities.compactMap { entity in
            let changes = difference.changes
            let renamed = changes.first { $0.kind == .entityRenamed && $0.entity == entity.name }
            var renaming = Renaming(entity: entity, formerName: renamed?.old)
            for change in changes where [.attributeRenamed, .relationshipRenamed].contains(change.kind) {
                guard let new = change.property, let old = change.old,
                    model.entity(named: change.entity).map(entity.isKind) == true,
                    // A name that another property has now is that property's.
                    !entity.propertyNames.contains(old)
                else { continue }
                renaming.properties[old] = new
            }
            return renaming.formerName == nil && renaming.properties.isEmpty ? nil : renaming
        }
    }

    /// Returns the lines for a configuration: for each of its routes, then for records that no route takes.
    func lines(for configuration: WorkerConfiguration) -> [String] {
        if renamings.isEmpty { return [] }
        let sources =
            configuration.topics.map { ($0.format, $0.routes) }
            + configuration.files.map { ($0.format, $0.routes) }
        let routes = sources.flatMap(\.1) + configuration.routes
        let formats = sources.map(\.0)
        var lines = routes.flatMap { self.lines(for: $0) }
        lines += unrouted(
            hasTypes: configuration.topics.isEmpty || formats.contains { !$0.needsRoutes && !$0.takesColumns },
            hasTables: formats.contains { !$0.needsRoutes && $0.takesColumns })
        if lines.isEmpty { return [] }
        return ["routes need these lines for records with the former names:"] + lines
    }

    // MARK: Routes of the configuration

    private func lines(for route: RouteConfiguration) -> [String] {
        var lines: [String] = []
        if route.program != nil {
            lines.append("# let the program of the route\(Self.text(route.place)) make events with the new names")
        } else if let renaming = renaming(of: route.entity) {
            let used = [
                Array(route.constants.keys), Array(route.defaults.keys), Array(route.fields.keys),
                Array(route.add.keys),
                Array(route.remove.keys), Array(route.types.keys), Array(route.typePatterns.keys),
                route.prefixReferences,
            ]
            lines = Self.lines(
                "route", route.place, renaming, entity: route.entity, aliases: route.aliases, ignore: route.ignore,
                others: used.flatMap { $0 })
        }
        for further in route.also { lines += self.lines(for: further) }
        for split in route.splits { lines += self.lines(for: split, of: route.entity) }
        return lines
    }

    private func lines(for split: SplitConfiguration, of owner: String) -> [String] {
        var lines: [String] = []
        if let renaming = renaming(of: split.entity) {
            let used = [
                Array(split.constants.keys), Array(split.defaults.keys), Array(split.fields.keys),
                Array(split.types.keys), Array(split.typePatterns.keys), [split.parent],
            ]
            lines = Self.lines(
                "split", split.place, renaming, entity: split.entity, aliases: split.aliases, ignore: split.ignore,
                others: used.flatMap { $0 })
        }
        if let former = split.relationship, let new = renaming(of: owner)?.properties[former] {
            lines.append("# in the split\(Self.text(split.place)), instead of relationship: \(YAMLText.scalar(former))")
            lines.append("relationship: \(YAMLText.scalar(new))")
        }
        for further in split.splits { lines += self.lines(for: further, of: split.entity) }
        return lines
    }

    private func renaming(of name: String) -> Renaming? {
        renamings.first { $0.formerName == name } ?? renamings.first { $0.entity.name == name }
    }

    /// - Parameter others: the properties that keys besides the aliases name.
    private static func lines(
        _ kind: String, _ place: ConfigurationPlace, _ renaming: Renaming, entity: String, aliases: [String: String],
        ignore: [String], others: [String]
    ) -> [String] {
        var needed = aliases.mapValues { renaming.properties[$0] ?? $0 }
        for (former, new) in renaming.properties where needed[former] == nil && !ignore.contains(former) {
            needed[former] = new
        }
        var lines: [String] = []
        if entity != renaming.entity.name { lines.append("entity: \(YAMLText.scalar(renaming.entity.name))") }
        if needed != aliases { lines.append("aliases: \(text(needed))") }
        for former in Set(others).sorted() {
            guard let new = renaming.properties[former] else { continue }
            lines.append("# '\(former)' is '\(new)' in its other keys")
        }
        return lines.isEmpty ? [] : ["# in the \(kind)\(text(place))"] + lines
    }

    private static func text(_ place: ConfigurationPlace) -> String { place.location.map { " at \($0)" } ?? "" }

    private static func text(_ aliases: [String: String]) -> String {
        let pairs = aliases.sorted { $0.key < $1.key }.map {
            "\(YAMLText.scalar($0.key)): \(YAMLText.scalar($0.value))"
        }
        return "{ \(pairs.joined(separator: ", ")) }"
    }

    // MARK: Records without a route

    /// Routes for records that the convention reads, by type or by table.
    private func unrouted(hasTypes: Bool, hasTables: Bool) -> [String] {
        var lines: [String] = []
        for renaming in renamings where !renaming.entity.isAbstract {
            let name = renaming.formerName ?? renaming.entity.name
            let entity = "entity: \(YAMLText.scalar(renaming.entity.name))"
            let aliases = renaming.properties.isEmpty ? "" : ", aliases: \(Self.text(renaming.properties))"
            if hasTypes {
                for verb in EventType.verbs.sorted(by: { $0.key < $1.key }).map(\.key)
                where EventType.verbs[verb] == .upsert || renaming.concernsDeletions {
                    let type = "\(ColumnNames.snakeCase(name).replacing("_", with: "-")).\(verb)"
                    lines.append("  - { type: \(YAMLText.scalar(type)), \(entity)\(aliases) }")
                }
            }
            if hasTables {
                lines.append("  - { table: \(YAMLText.scalar(ColumnNames.snakeCase(name))), \(entity)\(aliases) }")
            }
        }
        if lines.isEmpty { return [] }
        return ["# for records without a route; write types and tables as the records do", "routes:"] + lines
    }
}
