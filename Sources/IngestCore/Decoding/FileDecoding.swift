import Foundation
import GraphCore
import RecordDecoding
import RecordFiles

/// A record file that is open, with the decoder of its records.
final class FileDecoding {
    let reader: RecordFileReader
    let decoder: EventDecoder
    /// The decoder of the rows of a CSV file; nil for other files.
    let rows: RowDecoder?
    /// The topic whose records the file holds, or the name under which the store keeps the file's position.
    private let topic: String

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - mapping: how the file is read; nil finds it in the configuration.
    ///   - topic: the topic whose routes read the records; nil reads them by the mapping.
    /// - Throws: ``RecordFileError``, ``RouteError``.
    init(
        path: String, mapping: FileConfiguration? = nil, topic: String? = nil, _ configuration: WorkerConfiguration,
        _ model: ObjectModel
    ) throws {
        let mapping = mapping ?? configuration.fileMapping(for: path)
        reader = try RecordFileReader(
            path: path, delimiter: mapping?.delimiter, quote: mapping?.quote ?? .double,
            maximumRecordBytes: configuration.limits.maxRecordBytes, maximumDepth: configuration.limits.maxDepth)
        self.topic = topic ?? RecordPlace.topic(ofFile: path)
        if let topic {
            guard let found = configuration.topics.first(where: { $0.name == topic }) else {
                let known = configuration.topics.map(\.name).joined(separator: ", ")
                throw RouteError(message: "The topic '\(topic)' is not configured. The topics are: \(known)")
            }
            decoder = try configuration.decoder(of: found, model: model, registry: configuration.makeSchemaRegistry())
        } else {
            decoder = try configuration.decoder(of: mapping, place: path, model: model)
        }
        rows = reader.format == .csv ? try decoder.rowDecoder(columns: reader.columns, path: path) : nil
    }

    /// Returns a record of the file as a source delivers it.
    func source(of file: FileRecord) -> SourceRecord {
        SourceRecord(
            place: RecordPlace(topic: topic, partition: 0, offset: Int64(file.number), line: file.line), key: nil,
            value: file.value, totalBytes: file.totalBytes, fault: fault(of: file))
    }

    private func fault(of file: FileRecord) -> DecodeError? {
        if let fault = file.fault { return DecodeError(code: fault.code, fault.description) }
        guard rows != nil, file.isOversize else { return nil }
        return DecodeError(code: "decode.too_large", "The row has \(file.totalBytes) bytes, too many for one record")
    }

    /// Tells whether a record is a line that holds another source's record.
    func holdsRecord(_ file: FileRecord) -> Bool { rows == nil && RecordLine.matches(file.value) }

    /// Decodes a record of the file.
    func decode(_ file: FileRecord, _ record: SourceRecord) throws(DecodeError) -> ChangeSet {
        if let rows { return try rows.decode(file, record) }
        return try decoder.decode(record)
    }
}

extension WorkerConfiguration {
    /// Returns the configuration's entry for a file: the first entry of `files` that its name matches.
    ///
    /// A pattern with folders is compared with as many folders before the name, and `*` stays within one.
    func fileMapping(for path: String) -> FileConfiguration? {
        let parts = URL(fileURLWithPath: path).standardizedFileURL.path.split(separator: "/")
        return files.first { file in
            let patterns = file.match.split(separator: "/")
            guard patterns.count <= parts.count else { return false }
            return zip(patterns, parts.suffix(patterns.count)).allSatisfy {
                TextPatterns.matches(String($1), like: String($0))
            }
        }
    }
}
