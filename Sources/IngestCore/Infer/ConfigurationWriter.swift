import ObjectGraph

/// Writes the configuration that imports the files, or the topic, of an inferred model.
package enum ConfigurationWriter {
    /// The topic that the records were read from.
    package struct Topic: Sendable, Equatable {
        /// Its name.
        package var name: String
        /// The format of its records.
        package var format: EventFormat
        /// The brokers.
        package var servers: String

        /// Names a topic.
        package init(name: String, format: EventFormat, servers: String) {
            self.name = name
            self.format = format
            self.servers = servers
        }
    }

    /// Returns the text of the file.
    ///
    /// - Parameter topic: where the records come from, or nil for files.
    package static func text(
        _ model: InferredModel, modelPath: String, storePath: String, topic: Topic? = nil
    ) -> String {
        var lines = [
            "# Inferred. Every other setting has the default of config/worker.yaml; docs/reference/routes.md explains routes.",
            "model: \(InferredText.scalar(modelPath))", "store: { path: \(InferredText.scalar(storePath)) }",
            "notifications: { topic: null }",
        ]
        if let topic {
            lines.append("# Other settings of the client, such as credentials, are not copied.")
            lines.append("kafka: { bootstrap.servers: \(JSONText.string(topic.servers)) }")
        }
        lines.append(topic == nil ? "files:" : "topics:")
        for (number, entity) in model.entities.enumerated() where entity.parent == nil {
            let file = entity.profile.path.split(separator: "/").last.map(String.init) ?? entity.profile.path
            lines.append(
                topic.map { "  - name: \(InferredText.scalar($0.name))" } ?? "  - match: \(InferredText.scalar(file))")
            if !entity.profile.isTable { lines.append("    format: \((topic?.format ?? .json).rawValue)") }
            let markers = entity.profile.nullMarkers.sorted().map(InferredText.scalar)
            if !markers.isEmpty { lines.append("    nullValues: [\(markers.joined(separator: ", "))]") }
            lines += ["    routes:", "      - entity: \(entity.name)", "        verb: upsert"]
            if entity.identityColumn == nil {
                let template = entity.profile.composite.map { JSONText.string($0.template) }
                lines.append("        identity: \(template ?? "$row")")
            }
            appendColumns(entity, indent: "        ", to: &lines)
            let children = model.entities.filter { $0.parent == number }
            if !children.isEmpty { lines.append("        split:") }
            for child in children { appendSplit(child, to: &lines) }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func appendSplit(_ child: InferredModel.Entity, to lines: inout [String]) {
        let indent = "            "
        let isSingle = child.profile.isSingle
        lines.append("          - field: \(InferredText.scalar(InferredText.path(child.profile.field ?? "")))")
        lines.append(indent + "entity: \(child.name)")
        lines.append(indent + "\(isSingle ? "relationship" : "parent"): \(InferredText.scalar(child.parentName ?? ""))")
        if let column = child.identityColumn {
            let path = InferredText.path(child.profile.columns[column].name)
            lines.append(indent + "identity: \(InferredText.scalar(path))")
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
        let referring = entity.relationships.compactMap { relationship in
            relationship.column.map { ($0, relationship.name) }
        }
        let aliases = (named + referring).filter { $0.0 != $0.1 }
        if !aliases.isEmpty { lines.append(indent + "aliases:  # column: property") }
        lines += aliases.map { indent + "  \(InferredText.scalar($0.0)): \(InferredText.scalar($0.1))" }
        let forms = entity.attributes.filter { $0.guess.form != nil }
        if !forms.isEmpty { lines.append(indent + "types:") }
        lines += forms.map { indent + "  \(InferredText.scalar($0.name)): \($0.guess.form ?? "")" }
        // A column without a name has no other name to be left out by.
        if entity.profile.columns.contains(where: \.name.isEmpty) {
            lines.append(indent + "ignore: [\"*\"]  # a column without a name")
        }
    }
}
