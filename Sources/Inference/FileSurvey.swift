import GraphCore
import RecordDecoding
import RecordFiles

/// Says why a model cannot be inferred from a file.
public struct InferenceError: CodedError, Equatable {
    /// The stable code.
    public let code: String
    /// The file and the reason.
    public let message: String
    /// The remedy.
    public let remedy: String

    /// The code of a file whose records have more fields than an entity may have attributes.
    public static let tooManyColumns = "init.columns"
    /// The code of files whose records would become fewer objects, where nobody says that this is right.
    public static let repeats = "init.repeats"

    package init(_ code: String, _ message: String, remedy: String) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }
}

/// Reads a file and gathers the profiles of its records; a second time where no column identifies them.
package struct FileSurvey {
    private let group: FileGroup
    /// The file that is read.
    private var path: String
    private let recordLimit: Int?
    private let distinctLimit: Int
    private let isTable: Bool
    private var columns: [String] = []
    private let parser: JSONParser
    private let keyParser: JSONParser
    private var profiles: [EntityProfile] = []
    /// The number of the profile of a topic's records, by the topic; of a file's own, by nil.
    private var numbers: [String?: Int] = [:]

    /// Surveys a file.
    package static func read(path: String, recordLimit: Int?, distinctLimit: Int) throws -> [EntityProfile] {
        try read(FileGroup(path: path), recordLimit: recordLimit, distinctLimit: distinctLimit)
    }

    /// Surveys files that are parts of one table.
    ///
    /// - Parameters:
    ///   - group: the files.
    ///   - recordLimit: the most records that are read; nil for all.
    ///   - distinctLimit: the most distinct values that are remembered for each column.
    /// - Returns: one profile, or one for each topic that the lines of the file name.
    /// - Throws: ``RecordFileError``, ``InferenceError``.
    package static func read(_ group: FileGroup, recordLimit: Int?, distinctLimit: Int) throws -> [EntityProfile] {
        var survey = try FileSurvey(group, recordLimit, distinctLimit)
        for path in group.paths {
            let records = try RecordSurvey(path: path, recordLimit: recordLimit)
            try survey.begin(path, records.reader)
            try records.each { try survey.add($0) }
        }
        try survey.complete()
        try survey.readAgain()
        return survey.profiles
    }

    private init(_ group: FileGroup, _ recordLimit: Int?, _ distinctLimit: Int) throws {
        (self.group, self.recordLimit, self.distinctLimit) = (group, recordLimit, distinctLimit)
        (path, isTable) = (group.paths[0], group.isTable)
        parser = JSONParser()
        keyParser = JSONParser()
    }

    /// Begins with a file of the group.
    private mutating func begin(_ path: String, _ reader: RecordFileReader) throws {
        self.path = path
        columns = reader.columns
        guard isTable else { return }
        if columns.isEmpty {
            throw InferenceError(
                "init.empty", "\(path) is empty", remedy: "Name a file with a header row, or leave it out")
        }
        if columns.count > EntityProfile.columnLimit { throw Self.tooManyColumns(path, "\(columns.count)") }
        let number = number(of: nil)
        for name in columns { profiles[number].column(name) }
    }

    /// The number of the profile of a topic's records, or of the file's own.
    private mutating func number(of topic: String?) -> Int {
        if let number = numbers[topic] { return number }
        // A dead letter of a file names it as its topic, and is read as a record of that file.
        let original = topic.flatMap(RecordPlace.file(ofTopic:))
        numbers[topic] = profiles.count
        var profile = EntityProfile(
            path: original ?? path, topic: original == nil ? topic : nil, isTable: isTable, distinctLimit: distinctLimit
        )
        if original == nil {
            (profile.match, profile.stem, profile.partCount) = (group.match, group.stem, group.paths.count)
        }
        profiles.append(profile)
        return profiles.count - 1
    }

    // MARK: The first pass

    private mutating func add(_ record: SurveyedRecord) throws {
        let number = number(of: record.topic)
        if let fault = record.fault {
            profiles[number].add(fault: fault, line: record.line)
        } else if isTable {
            addRow(record, number)
        } else if let value = record.value {
            try addJSON(value, record, number)
        } else {
            addDeletion(record, number)
        }
    }

    private mutating func addRow(_ record: SurveyedRecord, _ number: Int) {
        if record.fields.isBlank { return profiles[number].emptyCount += 1 }
        profiles[number].recordCount += 1
        for (name, field) in zip(columns, record.fields) {
            let text = field.string ?? String(decoding: field.utf8, as: UTF8.self)
            profiles[number].add(text, text.isEmpty && field.isQuoted ? .empty : ValueShape(text: text), to: name)
        }
    }

    private mutating func addDeletion(_ record: SurveyedRecord, _ number: Int) {
        profiles[number].deletions += 1
        addKey(of: record, number, beside: nil)
    }

    private mutating func addKey(of record: SurveyedRecord, _ number: Int, beside value: JSONValue?) {
        guard let key = record.key, !key.isEmpty else { return }
        profiles[number].keys.add(key, try? keyParser.parse(key).root, beside: value)
    }

    private mutating func addJSON(
        _ value: UnsafeRawBufferPointer, _ record: SurveyedRecord, _ number: Int
    ) throws {
        let root: JSONValue
        do throws(JSONError) {
            root = try parser.parse(value).root
        } catch {
            return profiles[number].add(fault: error.code, line: record.line)
        }
        if root.isNull, record.topic != nil { return addDeletion(record, number) }
        if root.kind == .array, root.count > 0, root.elements.allSatisfy({ $0.kind == .object }) {
            return try addElements(of: root, record, number)
        }
        let payload = SchemaFields.unwrapped(root).payload
        guard root.kind == .object, payload.kind == .object || payload.isNull else {
            return profiles[number].add(fault: "no JSON object", line: record.line)
        }
        try refuse(payload, record)
        profiles[number].add(record: root)
        addKey(of: record, number, beside: payload.isNull ? nil : payload)
    }

    /// Adds the elements of a record that is an array of events.
    private mutating func addElements(of array: JSONValue, _ record: SurveyedRecord, _ number: Int) throws {
        profiles[number].hasArrays = true
        for element in array.elements {
            try refuse(element, record)
            profiles[number].add(record: element)
        }
    }

    /// Refuses records that say themselves what they are.
    private func refuse(_ record: JSONValue, _ source: SurveyedRecord) throws {
        let place = "\(path), line \(source.line)"
        if record.member("specversion") != nil, record.member("type") != nil {
            throw InferenceError(
                "init.cloudevents", "\(place): the records are CloudEvents, which need no routes",
                remedy: "Write a model with their entities and properties. See docs/reference/events.md")
        }
        if record.member("tstype") != nil, record.member("payload") != nil, source.topic == nil {
            throw InferenceError(
                "init.kcat", "\(place): the line holds a record of a topic, but not as 'kcat -J' writes it",
                remedy: "Keep kcat's order of fields, with 'topic' first: leave out -S of jq")
        }
        for format in EventFormat.allCases {
            guard let tool = format.tool, tool.wrote(record) else { continue }
            let table = tool.table(record).map { ", such as \(DecodeError.shown($0))" } ?? ""
            throw InferenceError(
                "init.\(format.rawValue)",
                "\(place): the records are change events of \(tool.name), which need no inferred routes",
                remedy: "Write a model with an entity for each table\(table), and give "
                    + "\(source.topic.map { "the topic \($0)" } ?? "the file") 'format: \(format.rawValue)'. See \(tool.page)"
            )
        }
    }

    private static func tooManyColumns(_ path: String, _ count: String) -> InferenceError {
        InferenceError(
            InferenceError.tooManyColumns,
            "\(path) has \(count) columns, and an entity has at most \(EntityProfile.columnLimit)",
            remedy:
                "Leave columns out, or write model and routes by hand, with the wide part in an attribute of type json"
        )
    }

    /// Checks that there are records and no more columns than an entity may have, and leaves out what has none.
    private mutating func complete() throws {
        if profiles.contains(where: \.hasMoreColumns) {
            throw Self.tooManyColumns(path, "more than \(EntityProfile.columnLimit)")
        }
        for number in profiles.indices { profiles[number].settleMarkers() }
        let isEmpty = profiles.allSatisfy { $0.recordCount == 0 }
        if !isTable, profiles.contains(where: { !$0.faults.isEmpty }),
            try RecordSurvey.isDocument(path: path, hasRecords: !isEmpty)
        {
            throw RecordFileError(.document, path: path, line: 1)
        }
        guard isTable || !isEmpty else {
            throw InferenceError(
                "init.empty", "\(path) holds no records that can be read",
                remedy: "Name a file with records, or leave it out")
        }
        guard profiles.count > 1 else { return }
        let empty = profiles.filter { $0.recordCount == 0 }
        let kept = profiles.indices.filter { profiles[$0].recordCount > 0 }
        profiles = kept.map { profiles[$0] }
        numbers = numbers.compactMapValues { kept.firstIndex(of: $0) }
        for profile in empty {
            for (fault, passed) in profile.faults {
                profiles[0].add(fault: fault, line: passed.firstLine, count: passed.count)
            }
            guard profile.deletions > 0, let topic = profile.topic else { continue }
            profiles[0].add(fault: "the topic \(topic) has no values", line: nil, count: profile.deletions)
        }
    }

    // MARK: The second pass

    /// Finds columns that identify together, and versions of objects, where no column identifies alone.
    private mutating func readAgain() throws {
        var composites = profiles.map { CompositeFinder($0, distinctLimit: distinctLimit) }
        var versions = profiles.map { VersionFinder($0, distinctLimit: distinctLimit) }
        guard composites.contains(where: \.isOpen) || versions.contains(where: { !$0.names.isEmpty }) else { return }
        for path in group.paths { try readAgain(path, &composites, &versions) }
        for number in profiles.indices {
            profiles[number].composite = composites[number].result
            profiles[number].repeated = versions[number].result
            // Names of keys that identify together say more than one that repeats: these are details.
            if let composite = composites[number].result, composite.isNamed,
                let column = profiles[number].repeated?.column, composite.columns.contains(column)
            {
                profiles[number].repeated = nil
            }
        }
    }

    private func readAgain(
        _ path: String, _ composites: inout [CompositeFinder], _ versions: inout [VersionFinder]
    ) throws {
        let records = try RecordSurvey(path: path, recordLimit: recordLimit)
        let places = Dictionary(records.reader.columns.enumerated().map { ($1, $0) }) { first, _ in first }
        try records.each { record in
            guard record.fault == nil, let value = record.value, let number = numbers[record.topic] else { return }
            func take(_ text: (String) -> String) {
                if composites[number].isOpen { composites[number].add(composites[number].names.map(text)) }
                if versions[number].names.isEmpty { return }
                versions[number].add(versions[number].names.map(text), content: value.fnv1a)
            }
            if isTable {
                take { name in places[name].flatMap { $0 < record.fields.count ? record.fields[$0].string : nil } ?? ""
                }
            } else if let root = try? parser.parse(value).root {
                for event in root.kind == .array ? Array(root.elements) : [SchemaFields.unwrapped(root).payload]
                where event.kind == .object { take { Self.text(event.member(named: $0)) ?? "" } }
            }
        }
    }

    /// Returns the text that a template makes of a value; nil unless the value is a text or a number.
    static func text(_ json: JSONValue?) -> String? {
        json.flatMap { $0.string ?? $0.numberText }
    }
}
