import GraphCore

extension InferredModel.Entity {
    /// The number of the column that identifies best, of those with at least this score, or nil.
    func bestIdentity(from least: Int) -> Int? {
        profile.columns.indices.map { (column: $0, score: score($0)) }.filter { $0.score >= least }
            .max { ($0.score, $1.column) < ($1.score, $0.column) }?.column
    }

    /// Tells whether a column's name says that it is the identity of these very records.
    func isOwnIdentity(_ column: String) -> Bool {
        ["id", "uuid", InferredNames.folded(name) + "id"].contains(InferredNames.folded(column))
    }

    /// Tells how well a column identifies; 0 where it cannot.
    private func score(_ number: Int) -> Int {
        let column = profile.columns[number]
        let type = ColumnGuess(column).type
        // An object that several records hold has its identity as often.
        guard profile.isComplete(column), profile.isSingle || !column.distinct.hasRepeats, !column.name.isEmpty,
            column.maximumLength <= 200, [.string, .integer64, .uuid].contains(type)
        else { return 0 }
        if isOwnIdentity(column.name) { return 4 }
        if profile.isSingle { return 0 }
        let words = TimeName.words(column.name)
        if words.contains(where: Self.coincidences.contains) { return 0 }
        if CompositeFinder.isKey(column.name) || InferredNames.folded(column.name) == InferredNames.folded(name) {
            return 3
        }
        if number == 0, profile.field == nil, profile.recordCount > 1 { return type == .string ? 2 : 1 }
        return 0
    }

    /// Words of names whose values are unique by coincidence alone.
    private static let coincidences: Set<String> = [
        "address", "age", "amount", "area", "birthday", "body", "city", "comment", "cost", "count", "date",
        "description",
        "family", "fax", "first", "given", "last", "lat", "latitude", "lng", "lon", "longitude", "middle", "note",
        "notes",
        "phone", "postal", "price", "quantity", "qty", "score", "street", "surname", "text", "time", "total", "value",
        "zip",
    ]

    /// The number of the column that orders the versions of an object, or nil.
    var versionColumn: Int? {
        guard let repeated = profile.repeated, let identityColumn,
            profile.columns[identityColumn].name == repeated.column
        else { return nil }
        return profile.columns.firstIndex { $0.name == repeated.version }
    }
}

/// Chooses the identity of each entity: a column, the record's key, columns together, or the record's place.
extension InferredModel {
    mutating func identify(_ number: Int) {
        let profile = entities[number].profile
        let key = profile.field == nil && !isEachRecord ? profile.keys.identity(profile) : nil
        let repeated = profile.repeated.flatMap { $0.isSure && !isEachRecord ? $0 : nil }
        if let column = entities[number].bestIdentity(from: key == nil && repeated == nil ? 1 : 3) {
            identify(number, byUnique: column)
        } else if let repeated {
            identify(number, byRepeated: repeated)
        } else if let key, !(profile.composite != nil && profile.keys.distinct.hasRepeats) {
            identify(number, by: key)
        } else {
            identifyWithoutColumn(number)
        }
        if entities[number].identityColumn == nil, !isEachRecord { ask(profile.repeated, number) }
        if case .column(let name, let expression)? = key,
            entities[number].identityColumn.map({ profile.columns[$0].name == name }) == true
        {
            entities[number].identityExpression = expression
        }
        if profile.hasArrays, entities[number].identityColumn == nil, profile.composite == nil {
            warnings.append(
                "\(entities[number].name): some records are arrays, whose elements would be one object without an identity of "
                    + "their own. Name a field as the route's identity")
        }
    }

    private mutating func identify(_ number: Int, byUnique found: Int) {
        let entity = entities[number]
        let column = entity.profile.columns[found]
        entities[number].identityColumn = found
        entities[number].identityReason =
            entity.profile.isSingle
            ? "the objects' own identity; equal ones are one object"
            : "each of \(column.valueCount) records has another value"
        if column.distinct.isBeyondLimit {
            warnings.append(
                "\(entity.name): '\(column.name)' identifies; no repetition was seen, but only the first "
                    + "\(column.distinct.hashes.count) values were compared")
        }
    }

    private mutating func identify(_ number: Int, byRepeated repeated: RepeatedIdentity) {
        entities[number].identityColumn = entities[number].profile.columns.firstIndex { $0.name == repeated.column }
        let order = repeated.version.map { "versions of an object, in the order of '\($0)'" } ?? "the last one counts"
        entities[number].identityReason = "\(repeated.share): \(order)"
        guard repeated.hasChanges else { return }
        warnings.append(
            "\(entities[number].name): '\(repeated.column)' repeats (\(repeated.share)), so records with one value are "
                + (repeated.version.map { "versions of one object, and '\($0)' orders them" }
                    ?? "one object, and the last record counts"))
    }

    private mutating func identify(_ number: Int, by key: KeyProfile.Identity) {
        let profile = entities[number].profile
        switch key {
        case .column(let name, _):
            entities[number].identityColumn = profile.columns.firstIndex { $0.name == name }
            entities[number].identityReason = "the key of each record"
        case .expression(let expression):
            entities[number].identityExpression = expression
            entities[number].identityReason = "the record's key; no field has it"
        }
        guard profile.keys.distinct.hasRepeats else { return }
        warnings.append(
            "\(entities[number].name): keys repeat, and the last record of a key counts. If each record is an object of its "
                + "own, set identity: \"\(Self.place(profile).expression)\" in the route")
    }

    /// The expression of a record's place, and its name in comments.
    private static func place(_ profile: EntityProfile) -> (expression: String, words: String) {
        if profile.topic != nil { return ("{$partition}-{$offset}", "the record's partition and offset") }
        if profile.partCount == 1 { return ("$row", "the record's number in the file") }
        let hasOneName = profile.match?.contains("*") == false
        return hasOneName
            ? ("{$folder}/{$row}", "the file's folder and the record's number in it")
            : ("{$file}/{$row}", "the file's name and the record's number in it")
    }

    private mutating func identifyWithoutColumn(_ number: Int) {
        let entity = entities[number]
        if let composite = entity.profile.composite {
            let names = composite.columns.map { "'\($0)'" }.joined(separator: ", ")
            entities[number].identityExpression = composite.template
            entities[number].identityReason = "no column identifies alone; no two records share \(names)"
            warnings.append(
                "\(entity.name): \(names) identify together"
                    + (composite.isCertain ? ", in this file" : "; only the first values were compared")
                    + ". References to it need the same template")
        } else if entity.isPart {
            entities[number].identityReason = "no field identifies: the identity of the record around it"
        } else if entity.parent != nil {
            entities[number].identityReason = "no field identifies: the parent's identity and the place in the array"
        } else {
            let place = Self.place(entity.profile)
            entities[number].identityExpression = place.expression
            entities[number].identityReason = "no column identifies: \(place.words)"
            warnings.append(
                "\(entity.name): no column identifies a record, so "
                    + (entity.profile.topic == nil
                        ? "its number in the file does; a later file with other rows in these places changes these "
                            + "objects"
                        : "its partition and offset do: each record is an object of its own"))
        }
    }

    /// Asks about values that repeat where names and values do not decide.
    private mutating func ask(_ repeated: RepeatedIdentity?, _ number: Int) {
        guard let repeated, !repeated.isSure else { return }
        let version = repeated.version.map { ", version: \($0)" } ?? ""
        warnings.append(
            "\(entities[number].name): '\(repeated.column)' repeats (\(repeated.share)): are these versions of one object? "
                + "Then set identity: \(repeated.column)\(version) in the model, and take 'identity' out of the route")
    }
}
