import Foundation
import GraphCore
import IngestCore

/// The state of a worker and its store at one moment, as `status` shows it.
package struct StatusReport: Decodable, Sendable, Equatable {
    /// A check of `/readyz` that fails.
    package struct Failure: Decodable, Sendable, Equatable {
        /// The check.
        package var check: String
        /// The reason that the worker knows.
        package var reason: String
    }

    /// The store's place and size.
    package struct StoreState: Decodable, Sendable, Equatable {
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
    package struct HistoryState: Decodable, Sendable, Equatable {
        /// The token of the last transaction.
        package var token: Int64
        /// The last token whose notification was delivered; nil where nothing is notified.
        package var notified: Int64?
    }

    /// The worker's counts since its start.
    package struct Counts: Decodable, Sendable, Equatable {
        /// The records that it has read.
        package var records: Int
        /// The events that were older than the stored version.
        package var stale: Int?
        /// The placeholders that were made.
        package var placeholders: Int?
        /// The chunks that were saved.
        package var chunks: Int?
        /// The commits.
        package var commits: Int?
        /// The notifications that were delivered.
        package var notifications: Int?
    }

    /// The place of one partition.
    package struct Position: Decodable, Sendable, Equatable {
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

    /// The address of the worker that answered, or nil where the store alone was read.
    package var worker: String?
    /// The cause why no worker was asked; nil where one answered.
    package var withoutWorker: String?
    /// The version of the worker's program; nil without a worker.
    package var version: String?
    /// The time of the worker's start; nil without a worker.
    package var startedAt: String?
    /// Whether the worker passes all checks; nil without a worker.
    package var ready: Bool?
    /// The worker's judgement; nil without a worker.
    package var verdict: WorkerVerdict?
    /// The work on the store that the worker waits for; nil where there is none.
    package var work: StoreWork?
    /// The checks of `/readyz` that fail; nil without a worker.
    package var failures: [Failure]?
    /// Whether the store waits for a verification, since its disk failed or it was found damaged; nil with a worker.
    package var isSuspect: Bool?
    /// The reason why the store's disk takes no writes, with the remedy; nil where it has room, and with a worker.
    package var diskFault: String?
    /// The reason why purges by age wait for an operator, with the remedy; nil where none do, and with a worker.
    package var heldPurges: String?
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

    /// Whether the worker is ready, and so many records became dead letters that its verdict is degraded.
    package var hasTooManyLetters: Bool { ready == true && verdict?.state == .degraded }

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
}

extension StatusReport: JSONWritable {
    /// The report as one JSON object, which ``init(worker:status:)`` reads. Without a worker its members are left out.
    package var json: String {
        var asked = JSONObject()
        asked.add("worker", worker)
        asked.add("withoutWorker", withoutWorker)
        asked.add("version", version)
        asked.add("startedAt", startedAt)
        asked.add("ready", ready)
        asked.add("verdict", verdict)
        if let failures { asked = asked + JSONObject(["work": work, "failures": failures]) }
        asked.add("isSuspect", isSuspect)
        asked.add("diskFault", diskFault)
        asked.add("heldPurges", heldPurges)
        asked.add("checks", checks)
        var state = JSONObject(["store": store, "history": history])
        state.add("counts", counts)
        state.add("deadLetters", deadLetters)
        state.add("deadLettersByCode", deadLettersByCode)
        state.add("positions", positions)
        return (asked + state).json
    }
}

extension StatusReport.Failure: JSONWritable {
    package var json: String { JSONObject(["check": check, "reason": reason]).json }
}

extension StatusReport.StoreState: JSONWritable {
    package var json: String {
        JSONObject([
            "path": path, "location": location, "model": model, "bytes": bytes, "walBytes": walBytes,
        ]).json
    }
}

extension StatusReport.HistoryState: JSONWritable {
    package var json: String { JSONObject(["token": token, "notified": notified]).json }
}

extension StatusReport.Counts: JSONWritable {
    package var json: String {
        JSONObject([
            "records": records, "stale": stale, "placeholders": placeholders, "chunks": chunks, "commits": commits,
            "notifications": notifications,
        ]).json
    }
}

extension StatusReport.Position: JSONWritable {
    package var json: String {
        JSONObject([
            "topic": topic, "partition": partition, "nextOffset": nextOffset, "lag": lag, "lagSeconds": lagSeconds,
            "state": state, "reason": reason,
        ]).json
    }
}
