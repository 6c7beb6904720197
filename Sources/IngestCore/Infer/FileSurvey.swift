import ObjectGraph

/// Says why a model cannot be inferred from a file.
public struct InferenceError: CodedError, Equatable {
    /// The stable code.
    public let code: String
    /// The file and the reason.
    public let message: String
    /// The remedy.
    public let remedy: String

    init(_ code: String, _ message: String, remedy: String) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    /// The message and the remedy.
    public var description: String { "\(message). \(remedy)" }
}

/// Reads a file once and gathers the profile of its records.
package enum FileSurvey {
    /// Surveys a file.
    ///
    /// - Parameters:
    ///   - path: the file's path.
    ///   - recordLimit: the most records that are read; nil for all.
    ///   - distinctLimit: the most distinct values that are remembered for each column.
    /// - Throws: ``RecordFileError``, ``InferenceError``, ``JSONError``.
    package static func read(path: String, recordLimit: Int?, distinctLimit: Int) throws -> EntityProfile {
        let reader = try RecordFileReader(path: path)
        let isTable = reader.format == .csv
        var profile = EntityProfile(path: path, isTable: isTable, distinctLimit: distinctLimit)
        if isTable { try begin(&profile, reader) }
        let parser = try JSONParser()
        while recordLimit.map({ reader.recordNumber < $0 }) ?? true,
            try reader.next({ record in
                if let fault = record.fault {
                    profile.faults["\(fault.code), first at line \(record.line)", default: 0] += 1
                } else if isTable {
                    add(record, reader.columns, to: &profile)
                } else {
                    try add(record, parser, to: &profile)
                }
            })
        {}
        guard profile.recordCount > 0 || isTable else {
            throw InferenceError(
                "init.empty", "\(path) holds no records that can be read",
                remedy: "Name a file with records, or leave it out.")
        }
        return profile
    }

    private static func begin(_ profile: inout EntityProfile, _ reader: RecordFileReader) throws {
        guard !reader.columns.isEmpty else {
            throw InferenceError(
                "init.empty", "\(reader.path) is empty", remedy: "Name a file with a header row, or leave it out.")
        }
        for name in reader.columns { profile.column(name) }
    }

    private static func add(_ record: FileRecord, _ columns: [String], to profile: inout EntityProfile) {
        profile.recordCount += 1
        for (name, field) in zip(columns, record.fields) {
            let text = field.string ?? String(decoding: field.utf8, as: UTF8.self)
            profile.add(text, text.isEmpty && field.isQuoted ? .empty : ValueShape(text: text), to: name)
        }
    }

    private static func add(_ record: FileRecord, _ parser: JSONParser, to profile: inout EntityProfile) throws {
        do {
            try parser.withValue(of: record.value) { json in
                guard json.kind == .object else {
                    return profile.faults["no JSON object, first at line \(record.line)", default: 0] += 1
                }
                if json.member("specversion") != nil, json.member("type") != nil {
                    throw InferenceError(
                        "init.cloudevents",
                        "\(profile.path), line \(record.line): the records are CloudEvents, which need no routes",
                        remedy: "Write a model with their entities and properties.")
                }
                profile.add(json)
            }
        } catch let error as JSONError {
            profile.faults["\(error.code), first at line \(record.line)", default: 0] += 1
        }
    }
}
