import Foundation
import ObjectGraph

@testable import GraphCore

/// Gives the entities and properties of a random model names that a store has to tell apart or keep away: such as differ
/// by case only, begin with `_`, are the store's or SQLite's own, or are those of other entities beside them.
enum AwkwardNames {
    private static let entities = [
        ["Ant", "ANT", "ant", "aNt"], ["_history", "sqlite_Bee", "Cow_readable", "json_each"], ["E", "S", "l", "O"],
        ["Order", "_Group", "Index", "index"], ["Ant", "Ant_link", "Ant_LINK", "_metadata"],
    ]
    private static let attributes = [
        "name", "NAME", "Name", "_name", "pk", "rowid", "_entity", "_placeholder", "value", "Value", "select", "key",
        "_link_position", "number", "naME", "_NAME",
    ]
    private static let relationships = [
        "link", "LINK", "Link", "_link", "owner", "oid", "destination", "liNK", "order", "_pk",
    ]

    /// Returns the model with other names; the same seed gives the same.
    static func applied(to yaml: String, seed: UInt64) -> String {
        var random = SeededGenerator(seed: seed ^ 0x6e61_6d65_73)
        if random.chance(50) { return yaml }
        var text = yaml
        if random.chance(60), let set = entities.randomElement(using: &random) {
            text = replaced(text, Dictionary(uniqueKeysWithValues: zip(["Ant", "Bee", "Cow", "Dog"], set)))
        }
        let letters = ["p", "q", "s", "t"].flatMap { letter in (0..<3).map { "\(letter)\($0)" } }
        let own = Dictionary(uniqueKeysWithValues: zip(letters, attributes.shuffled(using: &random)))
        text = replaced(text, own)
        let links = (0..<5).flatMap { ["r\($0)", "b\($0)"] }
        // Several relationships of one name: where the entities that have them are beside each other, that is a model.
        for _ in 0..<8 {
            let few = links.map { ($0, relationships.prefix(4).randomElement(using: &random) ?? "link") }
            let merged = replaced(text, Dictionary(uniqueKeysWithValues: few))
            if (try? ObjectModel.parse(merged)) != nil { return merged }
        }
        return replaced(text, Dictionary(uniqueKeysWithValues: zip(links, relationships.shuffled(using: &random))))
    }

    private static func replaced(_ text: String, _ names: [String: String]) -> String {
        text.replacing(/\b[A-Za-z]\w*\b/) { match in names[String(match.0)] ?? String(match.0) }
    }
}
