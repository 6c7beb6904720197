import Foundation
import Logging
import ObjectGraph
import Synchronization
import Testing

@testable import IngestCore
@testable import Operations
@testable import RecordDecoding

/// A configuration that is read again: the worker takes the safe part, and names the rest.
@Suite struct ConfigurationReloadTests {
    private static func reload(_ change: (inout WorkerConfiguration) -> Void) -> ConfigurationReload {
        var new = WorkerConfiguration()
        change(&new)
        return ConfigurationReload(from: WorkerConfiguration(), to: new)
    }

    @Test func `routes, limits, chunks and the log's level are taken`() {
        let reload = Self.reload { new in
            new.topics[0].routes = [RouteConfiguration(entity: "Message")]
            new.routes = [RouteConfiguration(entity: "Chat")]
            new.limits.maxDepth = 8
            new.chunk.maxOperations = 7
            new.commit.maxRows = 9
            new.log.level = .debug
            new.history.keepDays = 30
        }
        #expect(
            reload.taken.map(\.key) == [
                "topics", "routes", "chunk.maxOperations", "commit.maxRows", "limits.maxDepth", "history.keepDays",
                "log.level",
            ])
        #expect(reload.needingRestart.isEmpty)
        #expect(reload.taken.last == ConfigurationReload.Change(key: "log.level", from: "info", to: "debug"))
        #expect(reload.configuration.topics[0].routes.count == 1 && reload.configuration.chunk.maxOperations == 7)
    }

    @Test func `a topic, an address, a group or a store needs a restart, and nothing of it is taken`() {
        let reload = Self.reload { new in
            new.topics.append(TopicConfiguration(name: "more"))
            new.http.port = 1
            new.store.path = "elsewhere"
            new.kafka.properties["group.id"] = "another"
            new.limits.maxDepth = 8
        }
        #expect(reload.taken.map(\.key) == ["limits.maxDepth"])
        #expect(reload.needingRestart.map(\.key) == ["store.path", "topics", "http.port", "kafka.group.id"])
        var expected = WorkerConfiguration()
        expected.limits.maxDepth = 8
        #expect(reload.configuration == expected)
    }

    @Test func `another secret is named, and not shown`() throws {
        let reload = Self.reload { new in
            new.http.operatorToken = "an-operators-token-0123"
            new.http.bearerToken = "a-readers-token-012345"
            new.kafka.properties["sasl.password"] = "a-password-of-the-broker"
        }
        #expect(reload.needingRestart.map(\.key) == ["http.bearerToken", "http.operatorToken", "kafka.sasl.password"])
        for change in reload.needingRestart {
            #expect(!"\(change)".contains("token-0123") && !"\(change)".contains("of-the-broker"))
        }
        let exchanged = ConfigurationReload(
            from: reload.configuration, to: reload.configuration)
        #expect(exchanged.needingRestart.isEmpty && exchanged.taken.isEmpty)
    }

    @Test func `a route that moves within its file is no change`() throws {
        let route = "routes: [{ type: a, entity: Message }]\n"
        let old = try WorkerConfiguration.load(yaml: route, name: "a").configuration
        let new = try WorkerConfiguration.load(yaml: "\n\n" + route, name: "a").configuration
        #expect(ConfigurationReload(from: old, to: new).taken.isEmpty)
    }

    @Test func `another model file needs a restart`() throws {
        let log = LogLines()
        let file = FileManager.default.temporaryDirectory.appending(path: "model-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try "name: A".write(to: file, atomically: true, encoding: .utf8)
        var configuration = WorkerConfiguration()
        configuration.model = file.path
        let reloader = ConfigurationReloader(
            running: configuration, model: WorkerHarness.model, logger: log.logger,
            read: { [configuration] in configuration }, take: { _ in })
        reloader.reload()
        #expect(log.all.last?.contains("the configuration has not changed") == true)
        try "name: B".write(to: file, atomically: true, encoding: .utf8)
        reloader.reload()
        #expect(log.all.last?.contains("the model file has changed, and needs a restart") == true)
    }

    @Test func `a wrong configuration changes nothing`() throws {
        let taken = Mutex<[WorkerConfiguration]>([])
        let next = Mutex<Result<WorkerConfiguration, any Error>>(.success(WorkerConfiguration()))
        let reloader = ConfigurationReloader(
            running: WorkerConfiguration(), model: WorkerHarness.model, logger: .silent,
            read: { try next.withLock { $0 }.get() },
            take: { configuration in taken.withLock { $0.append(configuration) } })
        reloader.reload()
        #expect(taken.withLock { $0.isEmpty })

        let mistake = #expect(throws: ConfigurationError.self) {
            try WorkerConfiguration.load(yaml: "chonk: 1", name: "a")
        }
        next.withLock { $0 = .failure(mistake ?? ConfigurationError(problems: [])) }
        reloader.reload()
        var foreign = WorkerConfiguration()
        foreign.topics[0].routes = [RouteConfiguration(entity: "NotInTheModel")]
        foreign.limits.maxDepth = 3
        next.withLock { [foreign] in $0 = .success(foreign) }
        reloader.reload()
        #expect(taken.withLock { $0.isEmpty })

        var right = WorkerConfiguration()
        right.limits.maxDepth = 3
        next.withLock { [right] in $0 = .success(right) }
        reloader.reload()
        reloader.reload()
        #expect(taken.withLock { $0.map(\.limits.maxDepth) } == [3])
    }
}
