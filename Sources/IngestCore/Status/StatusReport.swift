import Foundation

/// The state of a worker and its store at one moment, as `status` shows it.
package struct StatusReport: Codable, Sendable, Equatable {
    /// The worker's judgement of itself: ``WorkerVerdict`` as `/status` has it.
    package struct Verdict: Codable, Sendable, Equatable {
        /// Something that needs a person.
        package struct Attention: Codable, Sendable, Equatable {
            /// The check, or `deadLettersKept`.
            package var check: String
            /// The thing in a few words.
            package var title: String
            /// The cause, for a person.
            package var reason: String
            /// The remedy.
            package var remedy: String
        }

        /// The kind of state, such as `running`.
        package var state: String
        /// The state in one sentence.
        package var sentence: String
        /// The things that need a person, the gravest first.
        package var attention: [Attention]
    }

    /// The work on the store that the worker waits for: ``StoreWork`` as `/status` has it.
    package struct Work: Codable, Sendable, Equatable {
        /// The kind of work, such as `migration`.
        package var kind: String
        /// The step in words.
        package var step: String
        /// The part of the step that is done, from 0 to 1; nil where its end is not known.
        package var share: Double?
    }

    /// The store's place and size.
    package struct StoreState: Codable, Sendable, Equatable {
        /// The file, or the database without its password.
        package var path: String
        /// The file behind symbolic links and from the root, or the database, where a worker tells it.
        package var location: String?
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

    /// The worker's counts since its start.
    package struct Counts: Codable, Sendable, Equatable {
        /// The records that it has read.
        package var records: Int
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
        /// The age of the oldest of these records, at most, in seconds, where a worker knows it.
        package var lagSeconds: Double?
        /// The kind of state, such as `reading` or `halted`; nil without a worker.
        package var state: String?
        /// The cause where the partition is not read.
        package var reason: String?
    }

    /// Who answered: a worker's address, or nil where the store alone was read.
    package var worker: String?
    /// The cause why no worker was asked; nil where one answered.
    package var withoutWorker: String?
    /// Whether the worker passes all checks; nil without a worker.
    package var ready: Bool?
    /// The worker's judgement; nil without a worker.
    package var verdict: Verdict?
    /// The work on the store that the worker waits for; nil where there is none.
    package var work: Work?
    /// Whether the store waits for a verification, since its disk failed or it was found damaged; nil with a worker.
    package var isSuspect: Bool?
    /// The reason why the store's disk takes no writes, with the remedy; nil where it has room, and with a worker.
    package var diskFault: String?
    /// The store.
    package var store: StoreState
    /// The history.
    package var history: HistoryState
    /// The number of dead letters.
    package var deadLetters: Int
    /// The dead letters by code, as the worker has counted them last.
    package var deadLettersByCode: [String: Int]?
    /// Each check of `/readyz`, and whether it passes; nil without a worker.
    package var checks: [String: Bool]?
    /// The worker's counts; nil without a worker.
    package var counts: Counts?
    /// The positions, in the order of topics and partitions.
    package var positions: [Position]

    /// Reads the answer of a worker to `/status`.
    ///
    /// - Parameter address: the worker's address, as in `http://127.0.0.1:8080`.
    /// - Throws: `DecodingError`.
    package init(worker address: String, status: [UInt8]) throws {
        self = try JSONDecoder().decode(StatusReport.self, from: Data(status))
        worker = address
    }

    /// Makes the report of a store that was read without a worker.
    package init(
        withoutWorker reason: String, store: StoreState, history: HistoryState, deadLetters: Int,
        positions: [Position]
    ) {
        withoutWorker = reason
        self.store = store
        self.history = history
        self.deadLetters = deadLetters
        self.positions = positions
    }

    /// The report as one JSON object.
    package var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
