import GraphCore
import RecordDecoding

/// The shape of a setting's value in a file, as a fragment of JSON Schema without braces.
struct SettingSchema: Sendable {
    let text: String

    static let string = SettingSchema(text: #""type": "string""#)
    static let optionalString = SettingSchema(text: #""type": ["string", "null"]"#)
    static let boolean = SettingSchema(text: #""type": "boolean""#)
    /// A property of librdkafka, which judges the value itself.
    static let property = SettingSchema(text: #""type": ["string", "number", "boolean"]"#)
    /// Anything: the worker says more exactly what is wrong.
    static let anything = SettingSchema(text: "")

    static func integer(_ range: ClosedRange<Int>) -> SettingSchema {
        SettingSchema(text: #""type": "integer", "minimum": \#(range.lowerBound), "maximum": \#(range.upperBound)"#)
    }

    static func choice(_ names: [String]) -> SettingSchema {
        SettingSchema(text: #""enum": [\#(names.map { JSONText.string($0) }.joined(separator: ", "))]"#)
    }

    static func list(of element: SettingSchema) -> SettingSchema {
        SettingSchema(text: #""type": ["array", "null"], "items": {\#(element.text)}"#)
    }

    static func either(_ schemas: [SettingSchema]) -> SettingSchema {
        SettingSchema(text: #""anyOf": [\#(schemas.map { "{\($0.text)}" }.joined(separator: ", "))]"#)
    }

    /// A mapping with these keys and no others.
    static func mapping(_ keys: [(name: String, schema: SettingSchema)], required: [String] = []) -> SettingSchema {
        let properties = keys.map { "\(JSONText.string($0.name)): {\($0.schema.text)}" }.joined(separator: ", ")
        let needed = required.map { JSONText.string($0) }.joined(separator: ", ")
        return SettingSchema(
            text: #""type": "object", "additionalProperties": false, "#
                + (required.isEmpty ? "" : #""required": [\#(needed)], "#) + #""properties": {\#(properties)}"#)
    }

    static func reference(_ name: String) -> SettingSchema { SettingSchema(text: ##""$ref": "#/$defs/\##(name)""##) }

    // MARK: Topics, files and routes

    private static let format = choice(EventFormat.allCases.map(\.rawValue))

    private static func schema(ofKey key: String) -> SettingSchema {
        switch key {
        case "format": format
        case "routes": list(of: reference("route"))
        case "split": list(of: reference("split"))
        case "name", "match", "entity", "field": string
        default: anything
        }
    }

    private static func closed(_ keys: [String], required: [String] = []) -> SettingSchema {
        mapping(keys.map { (name: $0, schema: schema(ofKey: $0)) }, required: required)
    }

    static let topic = either([string, closed(ConfigurationNode.topicKeys, required: ["name"])])
    static let file = closed(ConfigurationNode.fileKeys, required: ["match"])
    static let route = closed(ConfigurationNode.routeKeys)
    static let split = closed(ConfigurationNode.splitKeys, required: ["field"])
}

/// The JSON Schema of the configuration file, for editors: made from the known keys.
package enum ConfigurationSchema {
    /// The schema as JSON, a setting a line, with a line break at the end.
    package static var json: String {
        var lines = [
            "{", #"  "$schema": "https://json-schema.org/draft/2020-12/schema","#,
            #"  "title": "Configuration of ingest-worker","#, #"  "type": "object","#,
            #"  "additionalProperties": false,"#, #"  "properties": {"#,
        ]
        let properties = ConfigurationSection.all.flatMap { section in
            section.name.map { [schema(of: section, named: $0)] } ?? section.keys.map { "    " + schema(of: $0) }
        }
        lines.append(properties.joined(separator: ",\n"))
        lines += [
            "  },", ##"  "$defs": {"##, #"    "route": {\#(SettingSchema.route.text)},"#,
            #"    "split": {\#(SettingSchema.split.text)}"#, "  }", "}",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func schema(of section: ConfigurationSection, named name: String) -> String {
        let properties = (section.properties.map(schema(of:)) + section.keys.map(schema(of:))).map { "        " + $0 }
        // Every other key under 'kafka' is a property of librdkafka, which has its own list.
        let others = section.properties.isEmpty ? "false" : "{\(SettingSchema.property.text)}"
        let meaning = section.summary.isEmpty ? "" : #""description": \#(JSONText.string(section.summary)), "#
        return #"    "\#(name)": {"# + "\n"
            + #"      "type": "object", "additionalProperties": \#(others), \#(meaning)"properties": {"# + "\n"
            + properties.joined(separator: ",\n") + "\n      }\n    }"
    }

    private static func schema(of property: ConfigurationSection.Property) -> String {
        schema(
            property.name, .property, property.defaultJSON, reload: .restart, summary: property.summary)
    }

    private static func schema(of key: ConfigurationKey) -> String {
        schema(String(key.name), key.schema, key.defaultJSON, reload: key.reload, summary: key.summary)
    }

    private static func schema(
        _ name: String, _ schema: SettingSchema, _ value: String, reload: ReloadRule, summary: String
    ) -> String {
        let parts = [
            schema.text, #""default": \#(value)"#, #""x-change": "\#(reload.text)""#,
            #""description": \#(JSONText.string(summary))"#,
        ]
        return #""\#(name)": {\#(parts.filter { !$0.isEmpty }.joined(separator: ", "))}"#
    }
}
