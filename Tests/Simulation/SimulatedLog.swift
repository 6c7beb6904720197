import KafkaClient

/// The log of one partition: records at offsets, and offsets without one, as the end of a transaction leaves.
struct SimulatedLog {
    /// The first offset that is still retained.
    private(set) var low: Int64 = 0
    private var entries: [ProducerRecord?] = []
    /// The first offset of the transaction that is open; one is at a time, for all writers have one name.
    private var openOffset: Int64?
    /// The end of the log after each loss of records.
    private var losses: [Int64] = []
    /// The entries before each loss.
    private var former: [[ProducerRecord?]] = []

    /// One past the last offset.
    var high: Int64 { Int64(entries.count) }

    /// One past the last offset that a reader of committed records is given.
    var committedEnd: Int64 { openOffset ?? high }

    /// The record of an offset that is retained; nil where the offset has none.
    subscript(offset: Int64) -> ProducerRecord? {
        offset >= low && offset < high ? entries[Int(offset)] : nil
    }

    /// All records that were ever written and stand there still, with their offsets; none of a transaction that is open.
    var records: [(record: ProducerRecord, offset: Int64)] {
        entries.prefix(Int(committedEnd)).enumerated()
            .compactMap { offset, record in record.map { ($0, Int64(offset)) } }
    }

    mutating func append(_ record: ProducerRecord?) { entries.append(record) }

    /// Drops the records before an offset by their age. What they were stays known, for the oracle.
    mutating func age(to offset: Int64) { low = max(low, min(offset, high)) }

    /// Loses the records from an offset on, as by an election of a replica that was behind.
    mutating func lose(from offset: Int64) {
        former.append(entries)
        losses.append(offset)
        entries.removeSubrange(Int(offset)...)
        low = min(low, offset)
        // A transaction that has lost all its records writes no mark: nobody learns of that write, and it may hide the loss.
        openOffset = openOffset.flatMap { $0 < offset ? $0 : nil }
    }

    // MARK: Losses

    /// The number of losses, which tells the logs apart that stood here one after the other.
    var generation: Int { losses.count }

    /// The lowest end of the log after a loss of records; nil where none was lost.
    var firstLoss: Int64? { losses.min() }

    /// The offset up to which the log of one generation is that of another, later one.
    func commonEnd(_ generation: Int, _ other: Int) -> Int64 { losses[generation..<other].min() ?? .max }

    /// Whether the log of a generation has records from an offset on.
    func hasRecords(from offset: Int64, of generation: Int) -> Bool {
        entries(of: generation).dropFirst(Int(offset)).contains { $0 != nil }
    }

    /// The record of an offset in the log of a generation.
    func record(at offset: Int64, of generation: Int) -> ProducerRecord? {
        let entries = entries(of: generation)
        return offset < entries.count ? entries[Int(offset)] : nil
    }

    private func entries(of generation: Int) -> [ProducerRecord?] {
        generation < former.count ? former[generation] : entries
    }

    // MARK: Transactions

    mutating func beginTransaction() { openOffset = openOffset ?? high }

    /// Ends the open transaction with its mark. The offsets of an aborted one stay used, without a record.
    mutating func endTransaction(aborts: Bool) {
        guard let start = openOffset else { return }
        if aborts { for offset in Int(start)..<entries.count { entries[offset] = nil } }
        entries.append(nil)
        openOffset = nil
    }
}
