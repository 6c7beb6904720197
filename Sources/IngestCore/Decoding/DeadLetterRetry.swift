import GraphCore
import KafkaClient
import Logging
import RecordDecoding

/// Applies dead letters again, through the current model and mapping, in the order of their original positions.
///
/// The transaction that applies letters removes the letters whose records pass, are stale or are now filtered out. For
/// the others it counts the attempts and keeps the new reason.
package final class DeadLetterRetry {
    /// The counts of the letters by outcome.
    package struct Summary: Sendable, Equatable {
        /// The number of letters that were tried.
        package var tried = 0
        /// The number whose events were applied.
        package var applied = 0
        /// The number whose events were older than what the store knew.
        package var stale = 0
        /// The number whose records are passed over by now.
        package var filtered = 0
        /// The number that stay, with their places, codes and reasons told to ``DeadLetterRetry/onFailure``.
        package var failed = 0

        /// The numbers as a JSON object.
        package var json: String {
            JSONObject([
                "tried": tried, "applied": applied, "stale": stale, "filtered": filtered, "failed": failed,
            ]).json
        }
    }

    private let writer: WriterContext
    private let decoders: RecordDecoders
    /// The counts of the letters tried so far.
    package private(set) var summary: Summary
    /// Called for each letter that stays, with its new reason.
    package var onFailure: (DeadLetter) -> Void = { _ in }

    /// Makes a retry through a context that holds the store's lease.
    ///
    /// - Parameter summary: the counts of an earlier part of the same retry.
    package init(writer: WriterContext, configuration: WorkerConfiguration, summary: Summary = Summary()) {
        self.writer = writer
        self.summary = summary
        decoders = RecordDecoders(configuration: configuration, model: writer.store.model)
    }

    /// Tries the letters of these numbers again, in a chunk that is committed.
    ///
    /// - Throws: `StoreError`, or a ``DecodeError`` that is retriable.
    func retry(_ ids: [Int64]) throws {
        let letters = try writer.store.read { context in try ids.compactMap { try context.deadLetter($0) } }
        var chunk = WriterContext.Chunk(events: [], source: letters.first.map { "retry:\($0.place.position)" })
        chunk.trace = letters.first.flatMap { TraceParent.find(in: $0.recordHeaders) }
        var decoded: [DeadLetter] = []
        for letter in letters {
            summary.tried += 1
            do throws(DecodeError) {
                let event = try letter.withRecord { record throws(DecodeError) in
                    let event = try decoders.decode(record)
                    _ = try IdentityLimit.check(event, model: writer.store.model)
                    return event
                }
                if event.operations.isEmpty {
                    summary.filtered += 1
                    chunk.unwantedLetters.append(letter.id)
                } else {
                    chunk.events.append(event)
                    chunk.retriedLetters.append(letter.id)
                    decoded.append(letter)
                }
            } catch  where error.isRetriable {
                throw error
            } catch {
                let failed = letter.failing(stage: "decode", error.code, error.description)
                chunk.undecodedLetters.append(failed)
                note(failed)
            }
        }
        let result = try writer.apply(chunk)
        for (letter, outcome) in zip(decoded, result.outcomes) {
            switch outcome {
            case .applied: summary.applied += 1
            case .stale: summary.stale += 1
            case .failed(let failure): note(letter.failing(stage: "apply", failure.code, failure.description))
            }
        }
        try writer.commit()
    }

    private func note(_ letter: DeadLetter) {
        summary.failed += 1
        onFailure(letter)
    }
}

extension DeadLetter {
    /// The letter in a line: number, time, place, stage, code and reason.
    package var summary: String { "\(id)  \(Timestamp.text(time))  \(place)  \(stage)  \(code)  \(reason)" }

    /// Where the record comes from.
    package var place: RecordPlace { RecordPlace(topic: topic, partition: partition, offset: offset, line: line) }

    /// The record's own timestamp as ISO-8601; nil where the letter has none, or one beyond all time.
    package var timestampText: String? {
        timestampMilliseconds.flatMap { TimeUnit.milliseconds.microseconds($0) }.map { Timestamp.text($0) }
    }

    fileprivate func failing(stage: String, _ code: String, _ reason: String) -> DeadLetter {
        var letter = self
        (letter.stage, letter.code, letter.reason) = (stage, code, reason)
        letter.attempts += 1
        return letter
    }

    /// Calls `body` with the record as its source delivered it.
    ///
    /// Of a record that was too large only the beginning is kept: it comes with the fault `decode.too_large`.
    func withRecord<Result, Failure: Error>(
        _ body: (SourceRecord) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try SourceRecord.withBytes(key) { key throws(Failure) in
            try SourceRecord.withBytes(value) { value throws(Failure) in
                var record = SourceRecord(place: place, key: key, value: value)
                record.headers = recordHeaders
                record.timestampMilliseconds = timestampMilliseconds
                if let value, valueBytes > value.count {
                    record.totalBytes = valueBytes
                    record.fault = DecodeError(
                        code: "decode.too_large",
                        "Only the beginning of the record is kept, \(value.count) of \(counted(valueBytes, "byte")). Send it again "
                            + "from its source")
                }
                return try body(record)
            }
        }
    }

    /// The headers that the store keeps as JSON pairs of a name and base64.
    package var recordHeaders: [RecordHeader] {
        let parser = JSONParser()
        guard let headers, let root = try? parser.parse(Array(headers.utf8)).root else { return [] }
        return withExtendedLifetime(parser) { RecordHeader.list(root) }
    }
}

extension RecordHeader {
    /// Reads headers from an array of pairs of a name and base64, as dead letters keep them.
    static func list(_ json: JSONValue) -> [RecordHeader] {
        json.elements.compactMap { pair in
            let parts = Array(pair.elements)
            guard parts.count == 2, let name = parts[0].string else { return nil }
            return RecordHeader(name, parts[1].string.flatMap { Base64Text.bytes($0) })
        }
    }
}

extension RecordPlace {
    /// The place as the history names sources.
    var position: String { "\(topic)/\(partition)@\(offset)" }
}
