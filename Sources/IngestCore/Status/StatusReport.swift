import Foundation

/// The state of a worker and its store at one moment, as `status` shows it.
package struct StatusReport: Codable, Sendable, Equatable {
    /// A check that failed.
    package struct Failure: Codable, Sendable, Equatable {
        /// The check's name.
        package var check: String
        /// The cause, for a person.
        package var reason: String
    }

    /// The store's place and size.
    package struct StoreState: Codable, Sendable, Equatable {
        /// The file, or the database without its password.
        package var path: String
        /// The name of the model.
        package var model: String
        /// The size of the file in bytes, where the worker measures it.
        package var bytes: Int?
        /// The size of the log beside the file in bytes, where the worker measures it.
        package var walBytes: Int?
    }

    /// How far the history is, and how far its notifications are.
    package struct HistoryState: Codable, Sendable, Equatable {
        /// The token of the last transaction.
        package var token: Int64
        /// The last token whose notification was delivered; nil where nothing is notified.
        package var notified: Int64?
    }

    /// The place of one partition.
    package struct Position: Codable, Sendable, Equatable {
        /// The topic, or `file:` and a path.
        package var topic: String
        /// The partition.
        package var partition: Int32
        /// The offset of the next record.
        package var nextOffset: Int64
        /// Records up to the partition's end, where a worker knows it.
        package var lag: Int64?
    }

    /// Who answered: a worker's address, or nil where the store alone was read.
    package var worker: String?
    /// The cause why no worker was asked; nil where one answered.
    package var withoutWorker: String?
    /// Whether the worker passes all checks; nil without a worker.
    package var ready: Bool?
    /// The checks that failed.
    package var failures: [Failure]
    /// The store.
    package var store: StoreState
    /// The history.
    package var history: HistoryState
    /// The number of dead letters.
    package var deadLetters: Int
    /// The positions, in the order of topics and partitions.
    package var positions: [Position]

    /// Reads the answers of a worker to `/status` and `/metrics`.
    ///
    /// - Parameters:
    ///   - address: the worker's address, as in `http://127.0.0.1:8080`.
    ///   - status: the JSON of `/status`.
    ///   - metrics: the Prometheus text of `/metrics`, which has the lags.
    /// - Throws: `DecodingError`.
    package init(worker address: String, status: [UInt8], metrics: String) throws {
        let decoder = JSONDecoder()
        var report = try decoder.decode(StatusReport.self, from: Data(status))
        report.worker = address
        let lags = Self.lags(in: metrics)
        for index in report.positions.indices {
            let position = report.positions[index]
            report.positions[index].lag = lags["\(position.topic)/\(position.partition)"]
        }
        self = report
    }

    /// Makes the report of a store that was read without a worker.
    package init(
        withoutWorker reason: String, store: StoreState, history: HistoryState, deadLetters: Int,
        positions: [Position]
    ) {
        withoutWorker = reason
        failures = []
        self.store = store
        self.history = history
        self.deadLetters = deadLetters
        self.positions = positions
    }

    /// The lags by `topic/partition`.
    private static func lags(in metrics: String) -> [String: Int64] {
        var lags: [String: Int64] = [:]
        for line in metrics.split(separator: "\n") where line.hasPrefix("kafka_consumer_lag{") {
            guard let topic = label("topic", in: line), let partition = label("partition", in: line),
                let value = line.split(separator: " ").last.flatMap({ Double($0) }), value.isFinite
            else { continue }
            lags["\(topic)/\(partition)"] = Int64(value)
        }
        return lags
    }

    /// Names of topics hold no quotes and no backslashes.
    private static func label(_ name: String, in line: Substring) -> Substring? {
        guard let start = line.range(of: "\(name)=\"") else { return nil }
        let rest = line[start.upperBound...]
        return rest.firstIndex(of: "\"").map { rest[..<$0] }
    }

    /// The report as one JSON object.
    package var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
