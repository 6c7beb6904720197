extension Entity {
    /// Returns the values to be kept of a deleted object as a JSON object, or nil where the model keeps none.
    package func preservedValues(_ values: some SlotReadable) -> String? {
        let preserved = attributes.filter(\.isPreservedAfterDeletion)
        if preserved.isEmpty { return nil }
        var output = "{"
        for attribute in preserved {
            if output.utf8.count > 1 { output += "," }
            JSONText.append(attribute.name, to: &output)
            output += ":"
            attribute.type.appendJSON(values[attribute.slot], to: &output)
        }
        return output + "}"
    }
}
