import Foundation
import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

private func load(
    _ yaml: String, _ settings: [String] = [], _ environment: [String: String] = [:]
) throws -> LoadedConfiguration {
    try WorkerConfiguration.load(yaml: yaml, name: "w.yaml", settings: settings, environment: environment)
}

private func origin(_ key: String, _ loaded: LoadedConfiguration) -> ConfigurationOrigin? {
    loaded.entries.first { $0.key == key }?.origin
}

@Suite("Configuration sources")
struct ConfigurationLoaderTests {
    @Test
    func `no source gives the defaults`() throws {
        for text in ["", "# only a comment\n", "---\n", "store:\n  # path: x\n"] {
            let loaded = try load(text)
            #expect(loaded.configuration == WorkerConfiguration())
            #expect(loaded.entries.allSatisfy { $0.origin == .byDefault })
        }
    }

    @Test
    func `the defaults are those of the design`() {
        let configuration = WorkerConfiguration()
        #expect(configuration.chunk.maxOperations == 500)
        #expect(configuration.chunk.maxBytes == 8_388_608)
        #expect(configuration.commit.maxRows == 100_000)
        #expect(configuration.commit.maxMilliseconds == 3000)
        #expect(configuration.limits.maxRecordBytes == 16 * 1_024 * 1_024)
        #expect(configuration.notifications.topic == "ingest.changes")
        #expect(configuration.deadLetters.topic == nil)
        #expect(configuration.kafka.properties["bootstrap.servers"] == "localhost:9092")
        #expect(configuration.kafka.onPositionLost == .halt)
        #expect(configuration.errors.tolerance == .all)
        #expect(configuration.http.port == 8080)
        #expect(configuration.history.keepDays == 7)
        #expect(configuration.history.purgeEveryMinutes == 60)
    }

    @Test
    func `flag goes before variable, variable before file, file before default`() throws {
        let yaml = "store:\n  path: from-file\nchunk: { maxOperations: 1, maxBytes: 2 }\nauthor: me\n"
        let loaded = try load(
            yaml, ["store.path=from-flag"],
            ["INGEST_STORE_PATH": "from-variable", "INGEST_CHUNK_MAX_OPERATIONS": "9", "PATH": "/bin"])
        #expect(loaded.configuration.store.path == "from-flag")
        #expect(loaded.configuration.chunk.maxOperations == 9)
        #expect(loaded.configuration.chunk.maxBytes == 2)
        #expect(origin("store.path", loaded) == .flag(key: "store.path"))
        #expect(origin("chunk.maxOperations", loaded) == .environment(name: "INGEST_CHUNK_MAX_OPERATIONS"))
        #expect(origin("author", loaded) == .file(path: "w.yaml", line: 4, column: 9))
        #expect(origin("chunk.maxMilliseconds", loaded) == .byDefault)
    }

    @Test
    func `a later flag goes before an earlier one`() throws {
        #expect(try load("", ["http.port=1", "http.port=2"]).configuration.http.port == 2)
    }

    @Test(arguments: ["a,b", "[a, b]", " a , b "])
    func `topics from flags and variables`(text: String) throws {
        let expected = [TopicConfiguration(name: "a"), TopicConfiguration(name: "b")]
        #expect(try load("", ["topics=\(text)"]).configuration.topics == expected)
        #expect(try load("", [], ["INGEST_TOPICS": text]).configuration.topics == expected)
        #expect(try load("topics: x", ["topics=[{name: a}, b]"]).configuration.topics == expected)
    }

    @Test
    func `librdkafka properties pass verbatim, from every source`() throws {
        let loaded = try load(
            "kafka: { bootstrap.servers: \"a:1,b:2\", fetch.wait.max.ms: 50, enable.partition.eof: true }",
            ["kafka.group.id=g", "kafka.onPositionLost=earliest"],
            ["INGEST_KAFKA_CLIENT_ID": "c", "INGEST_KAFKA_ON_POSITION_LOST": "latest"])
        #expect(
            loaded.configuration.kafka.properties.values == [
                "bootstrap.servers": "a:1,b:2", "fetch.wait.max.ms": "50", "enable.partition.eof": "true",
                "group.id": "g",
                "client.id": "c", "check.crcs": "true",
            ])
        #expect(loaded.configuration.kafka.onPositionLost == .earliest)
        #expect(origin("kafka.client.id", loaded) == .environment(name: "INGEST_KAFKA_CLIENT_ID"))
    }

    @Test
    func `text in flags is not cut or changed by YAML's special characters`() throws {
        for password in ["a #b", "@x", "a: b", "%x", "[a", "{", "null-ish", "*a", "x\"y", "'"] {
            let loaded = try load("", ["kafka.sasl.password=\(password)"])
            #expect(loaded.configuration.kafka.properties["sasl.password"] == password)
        }
        #expect(try load("", ["author=\"a b\""]).configuration.author == "a b")
    }

    @Test
    func `null turns a topic off`() throws {
        #expect(try load("notifications: { topic: ~ }").configuration.notifications.topic == nil)
        #expect(try load("", ["notifications.topic=null"]).configuration.notifications.topic == nil)
        #expect(try load("", [], ["INGEST_NOTIFICATIONS_TOPIC": ""]).configuration.notifications.topic == nil)
        #expect(try load("notifications: { topic: \"null\" }").configuration.notifications.topic == "null")
    }

    @Test
    func `a section may be set as a whole`() throws {
        #expect(try load("", ["chunk={maxOperations: 7, maxBytes: 8}"]).configuration.chunk.maxBytes == 8)
    }

    @Test
    func `a route reads with all its keys`() throws {
        let yaml = """
            topics:
              - plain
              - name: t
                format: debezium
                routes:
                  - { entity: Message, verb: delete, identity: $row, identityPrefix: "p-", data: a.b, typeField: k,
                      timeField: at, aliases: {x: y}, ignore: [a, b], dates: seconds,
                      constants: {a: 1, b: "1", c: true, d: null, e: 1.5, f: text} }
            files: [{match: "*.jsonl", format: json, routes: [{entity: Chat}]}]
            """
        let configuration = try load(yaml).configuration
        var route = RouteConfiguration(entity: "Message")
        route.verb = .delete
        route.identity = .row
        route.identityPrefix = "p-"
        route.data = "a.b"
        route.typeField = "k"
        route.timeField = "at"
        route.aliases = ["x": "y"]
        route.ignore = ["a", "b"]
        route.dates = .seconds
        route.constants = [
            "a": .integer(1), "b": .string("1"), "c": .boolean(true), "d": .null, "e": .double(1.5),
            "f": .string("text"),
        ]
        #expect(
            configuration.topics == [
                TopicConfiguration(name: "plain"), TopicConfiguration(name: "t", format: .debezium, routes: [route]),
            ])
        #expect(
            configuration.files == [
                FileConfiguration(match: "*.jsonl", format: .json, routes: [RouteConfiguration(entity: "Chat")])
            ])
    }

    @Test
    func `every key has a variable of its own that sets it`() throws {
        #expect(
            Set(ConfigurationKey.known.map { ClosestName.normalized($0.variable) }).count
                == ConfigurationKey.known.count
        )
        let key = try #require(ConfigurationKey.byPath["chunk.maxOperations"])
        #expect(key.variable == "INGEST_CHUNK_MAX_OPERATIONS")
        #expect(try load("", [], ["ingest_chunk_maxoperations": "3"]).configuration.chunk.maxOperations == 3)
        #expect(try load("", [], ["INGEST_TEST_SEED": "3"]).configuration == WorkerConfiguration())
    }

    @Test
    func `a missing default file is no mistake, a missing named file is`() throws {
        var loader = ConfigurationLoader()
        #expect(loader.read(file: nil, defaultFile: "/nonexistent/worker.yaml") == nil)
        #expect(try loader.finish(file: nil).configuration == WorkerConfiguration())
        #expect(throws: ConfigurationError.self) { try WorkerConfiguration.load(file: "/") }
        let error = #expect(throws: ConfigurationError.self) {
            try WorkerConfiguration.load(file: "/nonexistent/worker.yaml")
        }
        #expect(error?.problems.first?.code == .unreadable)
        #expect(error?.description.contains("/nonexistent/worker.yaml:1:1") == true)
    }

    @Test
    func `the description shows values, origins and no secret`() throws {
        let loaded = try load(
            "kafka:\n  sasl.password: hunter2\n  ssl.key.password: hunter3\n  sasl.username: bob\nhttp: {port: 0}\n",
            ["kafka.sasl.oauthbearer.client.secret=hunter4"])
        let text = loaded.describe()
        #expect(!text.contains("hunter"))
        #expect(text.contains("kafka.sasl.password = [redacted]  # w.yaml:2:18"))
        #expect(text.contains("kafka.sasl.username = bob  # w.yaml:4:18"))
        #expect(text.contains("http.port = 0  # w.yaml:5:14"))
        #expect(text.contains("store.path = data/ingest.sqlite  # default"))
        #expect(!"\(loaded.configuration)".contains("hunter"))
        #expect(!String(reflecting: loaded.configuration).contains("hunter"))
        var dumped = ""
        dump(loaded.configuration.kafka.properties, to: &dumped)
        #expect(!dumped.contains("hunter"))
        #expect(loaded.configuration.kafka.properties.secretValues == ["hunter2", "hunter3", "hunter4"])
    }

    @Test
    func `INGEST_CONFIG names the file, and an argument goes before it`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["one", "two"] {
            try "author: \(name)\n".write(to: folder.appending(path: "\(name).yaml"), atomically: true, encoding: .utf8)
        }
        let (one, two) = (folder.appending(path: "one.yaml").path, folder.appending(path: "two.yaml").path)
        let named = try WorkerConfiguration.load(environment: ["INGEST_CONFIG": one])
        #expect(named.file == one && named.configuration.author == "one")
        let given = try WorkerConfiguration.load(file: two, environment: ["INGEST_CONFIG": one])
        #expect(given.file == two && given.configuration.author == "two")
        #expect(throws: ConfigurationError.self) {
            try WorkerConfiguration.load(environment: ["INGEST_CONFIG": folder.appending(path: "none.yaml").path])
        }
        #expect(try WorkerConfiguration.load(file: two, environment: ["INGEST_CONFIG": ""]).file == two)
    }
}
