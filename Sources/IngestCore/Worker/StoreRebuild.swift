import Foundation
import KafkaClient
import Logging
import ObjectGraph
import UnixSignals

/// The reason why a store cannot be rebuilt.
package struct RebuildError: CodedError {
    /// The kind of error; the raw value is stable.
    package enum Code: String, Sendable {
        /// The topics do not hold everything that the old store was made of.
        case partial = "rebuild.partial"
        /// The unfinished new store was begun for another store or with other settings, or another store has replaced
        /// the old one.
        case foreign = "rebuild.foreign"
        /// The old store cannot be read, so nothing can be compared with it.
        case unreadable = "rebuild.unreadable"
    }

    /// The kind of error.
    package let code: Code
    package let message: String
    package let remedy: String
}

/// Builds a store again beside the old one, from the beginning of the topics, and puts it in the old one's place.
///
/// The old store may be read and written meanwhile. It can be killed at any moment and run again.
package final class StoreRebuild: Sendable {
    /// How a rebuild ended.
    package enum Outcome: Sendable {
        /// The new store stands in the old one's place.
        case replaced
        /// An earlier run has done it already, or there is no store to be rebuilt.
        case unneeded
        /// A stop was requested; the next run goes on.
        case stopped
    }

    private let configuration: WorkerConfiguration
    private let model: ObjectModel
    private let logger: Logger
    private let hooks: WorkerRuntime.Hooks
    private let allowsPartial: Bool
    private let swap: StoreSwap

    /// Makes the rebuild of the configured store.
    ///
    /// - Parameters:
    ///   - configuration: the worker's; its store is the one that is rebuilt.
    ///   - model: the new store's.
    ///   - logger: reports progress.
    ///   - hooks: how the program observes the worker and the steps of the exchange.
    ///   - allowsPartial: goes on though the topics do not hold everything that the old store was made of.
    package init(
        configuration: WorkerConfiguration, model: ObjectModel, logger: Logger,
        hooks: WorkerRuntime.Hooks = WorkerRuntime.Hooks(), allowsPartial: Bool = false
    ) {
        self.configuration = configuration
        self.model = model
        self.logger = logger
        self.hooks = hooks
        self.allowsPartial = allowsPartial
        swap = StoreSwap(path: configuration.store.path)
    }

    /// Rebuilds. Returns when the new store is in its place and closed, or after a request to stop.
    ///
    /// - Throws: ``RebuildError``, and what a worker throws.
    package func run(signals: [UnixSignal] = [.sigterm, .sigint]) async throws -> Outcome {
        let lock = try FileLock(swap.lock, action: "rebuilds the store at \(swap.path)")
        defer { lock.release() }
        try swap.completeIfInterrupted()
        guard let old = try readOld() else {
            logger.info("there is no store to rebuild", metadata: ["path": "\(swap.path)"])
            return .unneeded
        }
        let begun = try readBegun()
        // Each swap keeps what it has replaced: while that is there, the store is the rebuilt one.
        if begun == nil, old.replaces != nil, old.builtWith == configuration.contentMark,
            FileManager.default.fileExists(atPath: swap.kept)
        {
            logger.warning(
                "the store was rebuilt already, and is not rebuilt again",
                metadata: ["remove to rebuild it again": "\(swap.kept)"])
            return .unneeded
        }
        if let begun { try check(begun, replaces: old) }
        try checkCoverage(old, begun)
        let takeover = RebuildTakeover(
            old: old, configuration: configuration, model: model, allowsPartial: allowsPartial)
        do {
            return try await build(takeover, signals)
        } catch {
            takeover.abandon()
            throw error
        }
    }

    private func readOld() throws -> StoreDescription? {
        do { return try StoreDescription.read(path: swap.path) } catch {
            guard error.code == .corrupt else { throw error }
            throw RebuildError(
                code: .unreadable,
                message: error.message,
                remedy: "Move \(swap.path) away, with \(StoreSwap.sideFiles). "
                    + "Then run without --rebuild: a new store is made from the beginning of the topics")
        }
    }

    private func readBegun() throws -> StoreDescription? {
        do { return try StoreDescription.read(path: swap.rebuilt) } catch {
            throw error.code == .corrupt ? foreign("cannot be read: \(error.message)") : error
        }
    }

    private func check(_ begun: StoreDescription, replaces old: StoreDescription) throws {
        if begun.replaces != old.identity { throw foreign("was not begun to replace the store at \(swap.path)") }
        if begun.builtWith != configuration.contentMark {
            throw foreign("was begun with other topics, routes, partitions or limits than are set now")
        }
        logger.info("a rebuild that was begun before goes on", metadata: ["path": "\(swap.rebuilt)"])
    }

    private func foreign(_ reason: String) -> RebuildError {
        RebuildError(
            code: .foreign,
            message: "\(swap.rebuilt) \(reason)",
            remedy: "Remove it, and \(StoreSwap.sideFiles), to begin again")
    }

    private func build(_ takeover: RebuildTakeover, _ signals: [UnixSignal]) async throws -> Outcome {
        let runtime: WorkerRuntime
        do {
            runtime = try WorkerRuntime(
                configuration: buildingConfiguration, model: model, logger: logger, hooks: hooks, takeover: takeover)
        } catch let error as StoreError where error.code == .modelMismatch {
            throw foreign("was begun with another model")
        }
        takeover.onTaken = { [hooks] in
            hooks.onRebuildStep("taken")
            Task { await runtime.requestStop() }
        }
        logger.info("the store is rebuilt", metadata: ["path": "\(swap.rebuilt)", "replaces": "\(takeover.identity)"])
        try await runtime.run(signals: signals)
        takeover.onTaken = {}
        guard takeover.isTaken, let old = takeover.retiring else {
            takeover.abandon()
            return .stopped
        }
        hooks.onRebuildStep("closed")
        try emptyLog()
        guard old.isInPlace else { throw takeover.isExchanged }
        try old.close()
        try swap.perform { hooks.onRebuildStep($0.rawValue) }
        logger.info("the rebuilt store is in its place", metadata: ["path": "\(swap.path)", "old": "\(swap.kept)"])
        return .replaced
    }

    /// A reader of the unfinished store would keep its log, which does not change its name with it.
    private func emptyLog() throws {
        let new = try RetiringStore(path: swap.rebuilt, model: model)
        defer { try? new.close() }
        for _ in 0..<50 {
            if try new.carryLogOver() { return }
            Thread.sleep(forTimeInterval: 0.1)
        }
        throw StoreError.readerInTheWay(of: swap.rebuilt)
    }

    /// The configuration of the worker that builds: another store, all partitions, nothing told to anybody.
    private var buildingConfiguration: WorkerConfiguration {
        var building = configuration
        building.store.path = swap.rebuilt
        building.kafka.partitions = configuration.kafka.partitions ?? .all
        building.notifications.topic = nil
        building.deadLetters.topic = nil
        return building
    }

    // MARK: What is gone

    private func checkCoverage(_ old: StoreDescription, _ begun: StoreDescription?) throws {
        let admin = try Admin(configuration: configuration.kafka.clientConfiguration(logger: logger))
        let known = try admin.metadata().topics
        let selection = configuration.kafka.partitions ?? .all
        var marks: [TopicPartition: Watermarks] = [:]
        for topic in configuration.topics {
            for partition in known[topic.name] ?? [] where selection.contains(partition.number) {
                let place = TopicPartition(topic.name, partition.number)
                marks[place] = try admin.watermarks(place)
            }
        }
        let read = Set((begun?.positions ?? []).map { TopicPartition($0.topic, $0.partition) })
        let missing = RebuildCoverage.missing(old: old.positions, marks: marks, read: read)
        if missing.isEmpty { return }
        let list = missing.prefix(5).joined(separator: "; ") + (missing.count > 5 ? "; and more" : "")
        if allowsPartial {
            logger.warning("the rebuilt store will lack something", metadata: ["missing": "\(list)"])
            return
        }
        throw RebuildError(
            code: .partial,
            message: "The topics do not hold everything that the store at \(swap.path) was made of: \(list)",
            remedy: "With --allow-partial the rebuilt store goes without")
    }
}

/// Decides what a rebuilt store would lack.
enum RebuildCoverage {
    /// Says what was read into the old store and cannot be read again, a line each.
    ///
    /// - Parameters:
    ///   - old: how far the old store's sources were read.
    ///   - marks: the oldest offset and the end of every partition that is read again.
    ///   - read: the partitions that the rebuild has begun to read.
    static func missing(
        old: [SourcePosition], marks: [TopicPartition: Watermarks], read: Set<TopicPartition>
    ) -> [String] {
        var result = marks.filter { $0.value.low > 0 && !read.contains($0.key) }.sorted { $0.key < $1.key }.map {
            "\($0.key.topic)/\($0.key.partition) begins at offset \($0.value.low), retention has taken what was before"
        }
        for position in old where !position.topic.hasPrefix(TopicReplayRequest.markPrefix) && position.nextOffset > 0 {
            if let path = ReplayEngine.path(ofTopic: position.topic) {
                result.append("the file \(path) was replayed into it")
                continue
            }
            let place = "\(position.topic)/\(position.partition)"
            guard let marks = marks[TopicPartition(position.topic, position.partition)] else {
                result.append("\(place) is not read any more")
                continue
            }
            if position.nextOffset > marks.high {
                result.append(
                    "\(place) ends at offset \(marks.high), and the store has read up to \(position.nextOffset): the topic "
                        + "was made again, or has lost its end")
            }
        }
        return result
    }
}
