/// Bounds the work and memory that one record may ask of the worker.
public struct LimitConfiguration: Sendable, Equatable {
    /// The size above which a record is a dead letter, in bytes.
    public var maxRecordBytes = 16_777_216
    /// The nesting above which a record is a dead letter.
    public var maxDepth = 64
    /// The number of elements above which a record that routes split is a dead letter.
    public var maxElements = 100_000
    /// The memory of the process that runs a route's program, in megabytes.
    public var maxProgramMegabytes = 256
    /// The processor time that a route's program has for a record, in milliseconds.
    public var maxProgramMilliseconds = 1000

    /// Creates the defaults.
    public init() {}
}
