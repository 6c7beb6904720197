import Glibc

/// A stream of bytes.
protocol ByteSource: AnyObject {
    /// Fills the buffer as far as it can without waiting for more; returns 0 at the end only.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(RecordFileError) -> Int
}

/// Reads a file, a pipe, or standard input for the path `-`.
final class FileByteSource: ByteSource {
    let path: String
    /// The size on disk; nil for what is no regular file.
    let totalBytes: Int?
    /// How many bytes were read from the file so far.
    private(set) var bytesRead = 0

    private let descriptor: Int32
    private var peeked: [UInt8] = []

    init(path: String) throws(RecordFileError) {
        self.path = path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 {
            let code = errno
            throw RecordFileError(
                code == ENOENT ? .missing : .unreadable, path: path,
                detail: code == ENOENT ? nil : Self.message(code))
        }
        var status = stat()
        let isKnown = fstat(descriptor, &status) == 0
        let type = isKnown ? status.st_mode & S_IFMT : 0
        if type == S_IFDIR {
            if descriptor != STDIN_FILENO { close(descriptor) }
            throw RecordFileError(.unreadable, path: path, detail: "it is a directory")
        }
        totalBytes = type == S_IFREG && path != "-" ? Int(status.st_size) : nil
    }

    deinit {
        if descriptor != STDIN_FILENO { close(descriptor) }
    }

    /// Returns the first bytes without consuming them; fewer where the file is shorter.
    func peek(_ count: Int) throws(RecordFileError) -> [UInt8] {
        while peeked.count < count {
            var buffer = [UInt8](repeating: 0, count: count - peeked.count)
            let read = try readDescriptor(&buffer, count: buffer.count)
            if read == 0 { break }
            peeked.append(contentsOf: buffer[..<read])
        }
        return peeked
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(RecordFileError) -> Int {
        guard let base = buffer.baseAddress, !buffer.isEmpty else { return 0 }
        if !peeked.isEmpty {
            let count = min(peeked.count, buffer.count)
            buffer.copyBytes(from: peeked[..<count])
            peeked.removeFirst(count)
            return count
        }
        return try readDescriptor(base, count: buffer.count)
    }

    /// Returns the first bytes of a regular file, whatever was read before; nil for pipes and standard input.
    func prefix(_ count: Int) throws(RecordFileError) -> [UInt8]? {
        guard totalBytes != nil else { return nil }
        var buffer = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let read = buffer.withUnsafeMutableBytes { bytes in
                pread(descriptor, bytes.baseAddress.map { $0 + filled }, count - filled, off_t(filled))
            }
            if read == 0 { break }
            if read < 0 && errno == EINTR { continue }
            if read < 0 { throw failure(errno) }
            filled += read
        }
        return Array(buffer[..<filled])
    }

    private func readDescriptor(_ base: UnsafeMutableRawPointer, count: Int) throws(RecordFileError) -> Int {
        while true {
            let read = Glibc.read(descriptor, base, count)
            if read >= 0 {
                bytesRead += read
                return read
            }
            if errno != EINTR { throw failure(errno) }
        }
    }

    private func failure(_ code: Int32) -> RecordFileError {
        RecordFileError(.read, path: path, byteOffset: bytesRead, detail: Self.message(code))
    }

    /// The operating system's words for an error; for errors that exist they are constant strings.
    private static func message(_ code: Int32) -> String { String(cString: strerror(code)) }
}
