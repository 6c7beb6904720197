import GraphCore

/// The spellings that tables and columns of a database may have for the model's entities and properties.
package enum ColumnNames {
    /// The spellings of a property's name: `updatedAt` is also `updated_at`, `UPDATED_AT`, `updatedat` and `UPDATEDAT`.
    static func spellings(of name: String) -> [String] {
        let snake = snakeCase(name)
        return [snake, snake.uppercased(), name.lowercased(), name.uppercased()].filter { $0 != name }
    }

    /// The further names of a reference's column: `chat` is also `chat_id`, `chatId` and `CHAT_ID`.
    static func references(of name: String) -> [String] {
        let snake = snakeCase(name) + "_id"
        return [name + "Id", name + "ID", snake, snake.uppercased(), (name + "id").lowercased()]
    }

    package static func snakeCase(_ name: String) -> String {
        var output = ""
        var wasLower = false
        for character in name {
            if character.isUppercase, wasLower { output.append("_") }
            output += character.lowercased()
            wasLower = character.isLowercase || character.isNumber
        }
        return output
    }

    /// The folded names that a table may have for an entity, the likeliest first: `work_orders` is `workorders`, then
    /// `workorder`.
    static func folded(table: String) -> [String] {
        let name = EventType.folded(table)
        var names = [name]
        if name.hasSuffix("ies") { names.append(name.dropLast(3) + "y") }
        if name.hasSuffix("es") { names.append(String(name.dropLast(2))) }
        if name.hasSuffix("s") { names.append(String(name.dropLast())) }
        return names
    }
}

/// Finds the entity whose rows a table holds, remembering the few tables that a stream has.
struct TableResolver {
    private let names: EntityNames
    private var known: [String: Int] = [:]

    init(_ model: ObjectModel) { names = EntityNames(model) }

    mutating func resolve(_ table: String) throws(DecodeError) -> Int {
        let isName = table.utf8.count <= EntityNames.maximumBytes
        if isName, let found = known[table] { return found }
        guard isName, let found = names.entity(table, spellings: ColumnNames.folded(table: table)) else {
            throw DecodeError(
                code: "decode.unknown_entity",
                "The table \(DecodeError.shown(table)) has the name of no entity of the model "
                    + "(\(names.text)); add a route with 'table' and 'entity', or with 'verb: drop'")
        }
        if known.count >= 1024 { known.removeAll() }
        known[table] = found
        return found
    }
}
