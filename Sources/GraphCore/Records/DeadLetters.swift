/// A record that could not be decoded or applied, as the store keeps it.
public struct DeadLetter: Sendable {
    /// The letter's number in the store; 0 before it is saved.
    public var id: Int64 = 0
    /// When it was kept as a dead letter, in microseconds since 1970 UTC.
    public var time: Int64
    /// The topic's name, or `file:` and the file's path.
    public var topic: String
    /// The partition's number; 0 for a file.
    public var partition: Int32
    /// The record's offset, or its number in a file, counted from 1.
    public var offset: Int64
    /// The line of a file, counted from 1, or nil.
    public var line: Int?
    /// Where it failed: `decode`, `apply`.
    public var stage: String
    /// A stable code of the reason.
    public var code: String
    /// The reason in words, with the remedy.
    public var reason: String
    /// The record's key, or nil where it has none.
    public var key: [UInt8]?
    /// The record's bytes; of an oversized record only the beginning.
    public var value: [UInt8]?
    /// The record's full size in bytes.
    public var valueBytes: Int
    /// The record's headers as a JSON array of `[name, base64]`, or nil.
    public var headers: String?
    /// The record's own timestamp in milliseconds since 1970 UTC; nil where it has none, or an earlier program kept the
    /// letter.
    public var timestampMilliseconds: Int64?
    /// How often the record failed: at first, again from the same place with the same bytes, and in retries.
    public var attempts: Int = 1

    /// Makes a letter to be saved; the store numbers it. The properties say what each value means.
    public init(
        time: Int64, topic: String, partition: Int32, offset: Int64, line: Int? = nil, stage: String, code: String,
        reason: String, key: [UInt8]?, value: [UInt8]?, valueBytes: Int, headers: String? = nil,
        timestampMilliseconds: Int64? = nil
    ) {
        self.time = time
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.line = line
        self.stage = stage
        self.code = code
        self.reason = reason
        self.key = key
        self.value = value
        self.valueBytes = valueBytes
        self.headers = headers
        self.timestampMilliseconds = timestampMilliseconds
    }

    /// The column with the timestamps of records. A store of an earlier version gets it when it is opened for writing.
    package static let timestampColumn = "timestampMilliseconds"

    /// Where a storage keeps how far letters were sent to a topic. No cursor of the history: numbers of letters are no
    /// tokens, and hold no history back.
    package static func cursorKey(_ topic: String) -> String { "sentDeadLetter:\(topic)" }
}

/// Which dead letters are meant; every condition that is given has to hold.
public struct DeadLetterSelection: Sendable {
    /// The numbers of the letters, or nil for any.
    public var ids: [Int64]?
    /// The topic, or nil for any.
    public var topic: String?
    /// The partition, or nil for any.
    public var partition: Int32?
    /// The stage, `decode` or `apply`, or nil for any.
    public var stage: String?
    /// The code, or the name of a rule such as `validation.pattern`, or nil for any.
    public var code: String?
    /// The time before which the record became a dead letter, in microseconds since 1970 UTC, or nil for any.
    public var before: Int64?
    /// The earliest time at which the record became a dead letter, in microseconds since 1970 UTC, or nil for any.
    public var since: Int64?
    /// A part of the reason, in any case of ASCII letters, or nil for any.
    public var reason: String?

    /// Makes a selection of all letters.
    public init() {}

    /// Tells whether a letter is meant.
    package func includes(_ letter: DeadLetter) -> Bool {
        func holds<Wanted>(_ wanted: Wanted?, _ test: (Wanted) -> Bool) -> Bool { wanted.map(test) ?? true }
        return holds(ids) { $0.contains(letter.id) } && holds(topic) { letter.topic.utf8.elementsEqual($0.utf8) }
            && holds(partition) { letter.partition == $0 } && holds(stage) { letter.stage == $0 }
            && holds(storedCode) { letter.code == $0 } && holds(before) { letter.time < $0 }
            && holds(since) { letter.time >= $0 }
            && holds(reason) { $0.isEmpty || Self.folded(letter.reason).firstRange(of: Self.folded($0)) != nil }
    }

    /// The code as letters have it.
    package var storedCode: String? { code.map { ValidationFailure.stableCode(ofName: $0) ?? $0 } }

    private static func folded(_ text: String) -> [UInt8] {
        text.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 + 32 : $0 }
    }
}

/// The number of a dead letter with the size of its record as the store keeps it, in bytes.
package struct DeadLetterSize: Sendable, Equatable {
    package let id: Int64
    package let bytes: Int

    package init(id: Int64, bytes: Int) {
        self.id = id
        self.bytes = bytes
    }
}

/// Dead letters that have code, topic and reason in common.
package struct DeadLetterReason: Sendable, Equatable {
    package let code: String
    package let topic: String
    package let reason: String
    package let count: Int
    /// The times of the first and the last of them, in microseconds since 1970 UTC.
    package let firstTime: Int64
    package let lastTime: Int64

    package init(code: String, topic: String, reason: String, count: Int, firstTime: Int64, lastTime: Int64) {
        self.code = code
        self.topic = topic
        self.reason = reason
        self.count = count
        self.firstTime = firstTime
        self.lastTime = lastTime
    }
}
