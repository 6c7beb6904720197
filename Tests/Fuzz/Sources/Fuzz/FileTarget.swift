import Foundation
import IngestCore

/// Record files of each format: the readers end, count without gaps, and give the same records whatever their buffer.
struct FileTarget: FuzzTarget {
    private let path = "/dev/shm/fuzz-\(getpid())"

    func take(_ bytes: UnsafeRawBufferPointer) throws {
        guard let first = bytes.first else { return }
        let formats = RecordFileFormat.allCases
        let format = formats[Int(first) % formats.count]
        try Data(bytes.dropFirst()).write(to: URL(filePath: path))
        let wide = try read(format, bufferBytes: 64 << 10)
        let narrow = try read(format, bufferBytes: 1 + Int(first) / formats.count)
        if wide != narrow { throw Broken("the records depend on the buffer") }
        for (index, record) in wide.enumerated() where record.number != index + 1 { throw Broken("a gap in the count") }
    }

    private struct Record: Equatable {
        let number: Int
        let line: Int
        let bytes: [UInt8]
    }

    private func read(_ format: RecordFileFormat, bufferBytes: Int) throws -> [Record] {
        var records: [Record] = []
        do {
            let reader = try RecordFileReader(
                path: path, format: format, maximumRecordBytes: 4096, bufferBytes: bufferBytes)
            while try reader.next({ record in
                records.append(Record(number: record.number, line: record.line, bytes: Array(record.value)))
            }) {}
        } catch is RecordFileError {
        }
        return records
    }
}
