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

/// Reads a file and gathers the profile of its records; a second time where no column identifies them.
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
        try each(reader, recordLimit) { record in
            if let fault = record.fault {
                profile.faults["\(fault.code), first at line \(record.line)", default: 0] += 1
            } else if isTable {
                add(record, reader.columns, to: &profile)
            } else {
                try add(record, parser, to: &profile)
            }
        }
        guard profile.recordCount > 0 || isTable else {
            throw InferenceError(
                "init.empty", "\(path) holds no records that can be read",
                remedy: "Name a file with records, or leave it out.")
        }
        profile.composite = try composite(profile, recordLimit, distinctLimit, parser)
        return profile
    }

    private static func each(
        _ reader: RecordFileReader, _ recordLimit: Int?, _ body: (FileRecord) throws -> Void
    ) throws {
        while try recordLimit.map({ reader.recordNumber < $0 }) ?? true && reader.next(body) {}
    }

    /// Reads the file once more for columns that identify together.
    private static func composite(
        _ profile: EntityProfile, _ recordLimit: Int?, _ distinctLimit: Int, _ parser: JSONParser
    ) throws -> CompositeIdentity? {
        var finder = CompositeFinder(profile, distinctLimit: distinctLimit)
        if !finder.isOpen { return nil }
        let reader = try RecordFileReader(path: profile.path)
        let places = finder.names.map { reader.columns.firstIndex(of: $0) ?? 0 }
        try each(reader, recordLimit) { record in
            guard finder.isOpen, record.fault == nil else { return }
            if profile.isTable {
                finder.add(places.map { $0 < record.fields.count ? record.fields[$0].string ?? "" : "" })
            } else {
                try? parser.withValue(of: record.value) { json in
                    if json.kind == .object { finder.add(finder.names.map { text(json.member(named: $0)) }) }
                }
            }
        }
        return finder.result
    }

    /// The text that a template makes of a value.
    private static func text(_ json: JSONValue?) -> String {
        json.flatMap { $0.string ?? RouteConfiguration.ValueForm.text(ofNumber: $0) } ?? ""
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
