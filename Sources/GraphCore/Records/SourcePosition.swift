/// Where a source is to be read from next.
public struct SourcePosition: Sendable, Hashable {
    /// The position that the store has to hold before it takes another one.
    public enum Predecessor: Sendable, Hashable {
        /// The store may hold anything.
        case anything
        /// The store must not know the source yet.
        case nothing
        /// The store must hold this next offset.
        case offset(Int64)
    }

    /// The topic's name, or `file:` and the file's path.
    public var topic: String
    /// The partition's number; 0 for a file.
    public var partition: Int32
    /// The offset of the next record of a partition, or the number of records of a file that are done.
    public var nextOffset: Int64
    /// The fingerprint of a file, or of a partition's last record; nil where none is known. Another file or record at the
    /// same offset has another one.
    public var detail: String?
    /// The position that the store has to hold, so that a writer with an old position saves nothing.
    public var predecessor: Predecessor = .anything

    /// Makes a position to save with the chunk that it follows.
    public init(topic: String, partition: Int32, nextOffset: Int64, detail: String? = nil) {
        self.topic = topic
        self.partition = partition
        self.nextOffset = nextOffset
        self.detail = detail
    }
}
