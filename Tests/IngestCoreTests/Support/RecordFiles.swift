import CZlib
import Foundation
import Testing

@testable import IngestCore
@testable import RecordFiles

/// A folder for one test's files, removed with the last reference to it.
final class TestFolder {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "/record-files-" + UUID().uuidString
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            Issue.record(error)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ name: String, _ bytes: [UInt8]) -> String {
        let file = path + "/" + name
        if !FileManager.default.createFile(atPath: file, contents: Data(bytes)) { Issue.record("cannot write \(name)") }
        return file
    }

    func write(_ name: String, _ text: String) -> String { write(name, Array(text.utf8)) }
}

/// What was delivered, copied out of the reader's memory.
struct SeenRecord: Equatable {
    var text: String
    var number: Int
    var line: Int
    var byteOffset: Int
    var totalBytes: Int
    var isOversize = false
    var fault: RecordFault?
    var fields: [String?] = []

    init(_ record: FileRecord) {
        text = String(decoding: record.value, as: UTF8.self)
        number = record.number
        line = record.line
        byteOffset = record.byteOffset
        totalBytes = record.totalBytes
        isOversize = record.isOversize
        fault = record.fault
        fields = record.fields.map { $0.isAbsent ? nil : String(decoding: $0.utf8, as: UTF8.self) }
    }
}

/// Reads a file to its end: the records, and the error that ended it.
func readAll(
    _ path: String, format: RecordFileFormat? = nil, delimiter: CSVDelimiter? = nil, maximumRecordBytes: Int = 16 << 20,
    bufferBytes: Int = 256 << 10
) -> (records: [SeenRecord], error: RecordFileError?, reader: RecordFileReader?) {
    var records: [SeenRecord] = []
    var reader: RecordFileReader?
    do {
        let opened = try RecordFileReader(
            path: path, format: format, delimiter: delimiter, maximumRecordBytes: maximumRecordBytes,
            bufferBytes: bufferBytes)
        reader = opened
        while try opened.next({ records.append(SeenRecord($0)) }) {}
        return (records, nil, reader)
    } catch {
        return (records, error as? RecordFileError, reader)
    }
}

/// Compresses bytes as one gzip member.
func gzip(_ bytes: [UInt8]) -> [UInt8] {
    var stream = z_stream()
    deflateInit2_(
        &stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 64)
    let count = input.withUnsafeMutableBufferPointer { source in
        output.withUnsafeMutableBufferPointer { target in
            stream.next_in = source.baseAddress
            stream.avail_in = UInt32(source.count)
            stream.next_out = target.baseAddress
            stream.avail_out = UInt32(target.count)
            deflate(&stream, Z_FINISH)
            return target.count - Int(stream.avail_out)
        }
    }
    return Array(output[..<count])
}
