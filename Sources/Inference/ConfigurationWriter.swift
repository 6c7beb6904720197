import GraphCore
import RecordDecoding

/// Writes the configuration that imports the files, or the topics, of an inferred model.
package enum ConfigurationWriter {
    /// Where a topic's records come from.
    package struct Broker: Sendable, Equatable {
        /// The brokers.
        package var servers: String
        /// The address of the registry that has the schemas of the records, or nil.
        package var registryURL: String?

        /// Names a broker.
        package init(servers: String, registryURL: String?) {
            self.servers = servers
            self.registryURL = registryURL
        }
    }

    /// Returns the text of the file.
    ///
    /// - Parameter broker: where the records were read from, or nil for files.
    package static func text(
        _ model: InferredModel, modelPath: String, storePath: String, broker: Broker? = nil
    ) -> String {
        var lines = [
            "# Inferred. Every other setting has the default of config/worker.yaml; docs/reference/routes.md explains routes.",
            "model: \(YAMLText.scalar(modelPath))", "store: { path: \(YAMLText.scalar(storePath)) }",
            "notifications: { topic: null }",
        ]
        if let broker {
            lines.append("# Other settings of the client, such as credentials, are not copied.")
            lines.append("kafka: { bootstrap.servers: \(JSONText.string(broker.servers)) }")
            if let url = broker.registryURL { lines.append("schemaRegistry: { url: \(JSONText.string(url)) }") }
        }
        let sources = model.entities.indices.filter { model.entities[$0].parent == nil }
        for (section, isTopic) in [("files:", false), ("topics:", true)] {
            // The first that matches counts: plain names stand before patterns.
            let of = sources.filter { (model.entities[$0].profile.topic != nil) == isTopic }
            let isPattern = { (number: Int) in model.entities[number].profile.match?.contains("*") == true }
            let numbers = of.filter { !isPattern($0) } + of.filter(isPattern)
            if !numbers.isEmpty { lines.append(section) }
            for number in numbers { appendSource(model, number, to: &lines) }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Says how the records of a file or a topic are read.
    private static func appendSource(_ model: InferredModel, _ number: Int, to lines: inout [String]) {
        let entity = model.entities[number]
        let file = entity.profile.path.split(separator: "/").last.map(String.init) ?? entity.profile.path
        let name = entity.profile.topic.map { "name: \(YAMLText.scalar($0))" }
        lines.append("  - " + (name ?? "match: \(YAMLText.scalar(entity.profile.match ?? file))"))
        let format: EventFormat = entity.profile.isWrapped ? .connect : .json
        if !entity.profile.isTable { lines.append("    format: \(format.rawValue)") }
        let markers = entity.profile.nullMarkers.sorted().map(YAMLText.scalar)
        if !markers.isEmpty { lines.append("    nullValues: [\(markers.joined(separator: ", "))]") }
        lines += ["    routes:", "      - entity: \(entity.name)", "        verb: upsert"]
        if let expression = entity.identityExpression {
            lines.append("        identity: " + (expression.hasPrefix("$") ? expression : JSONText.string(expression)))
        }
        if let parts = entity.profile.localParts {
            lines.append("        dates: \(YAMLText.scalar(parts.form))")
        }
        if model.hasLocalTimes(number) { lines.append("        zone: \(YAMLText.scalar(model.zone ?? "UTC"))") }
        appendColumns(entity, indent: "        ", to: &lines)
        let children = model.entities.filter { $0.parent == number }
        if !children.isEmpty { lines.append("        split:") }
        for child in children { appendSplit(child, to: &lines) }
    }

    private static func appendSplit(_ child: InferredModel.Entity, to lines: inout [String]) {
        let indent = "            "
        let isSingle = child.profile.isSingle
        lines.append("          - field: \(YAMLText.scalar(InferredText.path(child.profile.field ?? "")))")
        lines.append(indent + "entity: \(child.name)")
        lines.append(indent + "\(isSingle ? "relationship" : "parent"): \(YAMLText.scalar(child.parentName ?? ""))")
        if let column = child.identityColumn {
            let path = InferredText.path(child.profile.columns[column].name)
            lines.append(indent + "identity: \(YAMLText.scalar(path))")
        } else if isSingle {
            lines.append(indent + "identity: $parent")
        } else {
            lines += [indent + "identity: $row", indent + "identityPrefix: \"$parent-\""]
        }
        if !isSingle { lines.append(indent + "replace: true") }
        appendColumns(child, indent: indent, to: &lines)
    }

    /// Says how the columns are read: by other names, in other forms, or not at all.
    private static func appendColumns(_ entity: InferredModel.Entity, indent: String, to lines: inout [String]) {
        let named = entity.attributes.compactMap { attribute in attribute.column.map { ($0, attribute.name) } }
        let referring = entity.relationships.filter { !$0.isIdentity }.compactMap { relationship in
            relationship.column.map { ($0, relationship.name) }
        }
        let aliases = (named + referring).filter { $0.0 != $0.1 }
        if !aliases.isEmpty { lines.append(indent + "aliases:  # column: property") }
        lines += aliases.map { indent + "  \(YAMLText.scalar($0.0)): \(YAMLText.scalar($0.1))" }
        let forms =
            entity.attributes.compactMap { attribute in attribute.guess.form.map { (attribute.name, $0) } }
            + entity.relationships.compactMap { relationship in relationship.form.map { (relationship.name, $0) } }
        if !forms.isEmpty { lines.append(indent + "types:") }
        lines += forms.map { indent + "  \(YAMLText.scalar($0.0)): \(YAMLText.scalar($0.1))" }
        let fields = entity.relationships.filter(\.isIdentity)
        if !fields.isEmpty { lines.append(indent + "fields:  # the identity is a reference, too") }
        lines += fields.map { field in
            indent + "  \(YAMLText.scalar(field.name)): \(YAMLText.scalar(InferredText.path(field.column ?? "")))"
        }
        let blank = entity.profile.columns.indices.filter { entity.profile.isBlank($0) }.map {
            entity.profile.columns[$0].name
        }
        if !blank.isEmpty {
            lines.append(indent + "ignore: [\(blank.joined(separator: ", "))]  # no name and no value")
        }
    }
}
