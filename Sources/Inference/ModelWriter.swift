import GraphCore

/// Writes an inferred model as a commented model file.
package enum ModelWriter {
    /// Returns the text of the file.
    package static func text(_ model: InferredModel, name: String) -> String {
        var lines = [
            "# Inferred from the files named below. Comments say why; change the rest as you like before the first import.",
            "model: \(YAMLText.scalar(name))", "version: 1", "entities:",
        ]
        for entity in model.entities { append(entity, to: &lines) }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func append(_ entity: InferredModel.Entity, to lines: inout [String]) {
        let place =
            entity.profile.field.map { "the \(entity.profile.isSingle ? "object" : "array") '\($0)' of " } ?? ""
        lines.append(
            "  "
                + InferredText.comment(
                    "\(counted(entity.profile.recordCount, "record")) of \(place)\(entity.profile.path)"))
        lines.append("  \(entity.name):")
        lines.append(
            "    identity: \(YAMLText.scalar(entity.identity))  "
                + InferredText.comment(entity.identityReason))
        if let version = entity.version {
            lines.append("    version: \(YAMLText.scalar(version))  # an older record changes nothing")
        }
        lines.append("    attributes:")
        for attribute in entity.attributes {
            var parts = ["type: \(attribute.guess.type.rawValue)"]
            if attribute.isOptional { parts.append("optional: true") }
            lines.append("      " + InferredText.comment(attribute.guess.reason))
            lines.append("      \(YAMLText.scalar(attribute.name)): { \(parts.joined(separator: ", ")) }")
        }
        if !entity.relationships.isEmpty { lines.append("    relationships:") }
        for relationship in entity.relationships {
            var parts = ["to: \(relationship.destination)"]
            parts.append(relationship.isToMany ? "many: true" : "optional: true")
            parts.append("inverse: \(YAMLText.scalar(relationship.inverse))")
            if relationship.isOwner { parts.append("delete: cascade") }
            lines.append("      " + InferredText.comment(relationship.reason))
            lines.append("      \(YAMLText.scalar(relationship.name)): { \(parts.joined(separator: ", ")) }")
        }
    }
}
