import Testing

@testable import IngestCore

@Suite struct PartitionSelectionTests {
    @Test(arguments: [
        ("0", "0", "0"), ("0-3,7", "0-3,7", "0-3_7"), (" 7, 0-1 ,2", "0-2,7", "0-2_7"), ("5,5,5-6", "5-6", "5-6"),
        ("1/4", "1/4", "1of4"), ("0/1", "0/1", "0of1"),
    ])
    func `a text is read sorted and names a file`(text: String, shown: String, fileName: String) throws {
        let selection = try #require(PartitionSelection(text))
        #expect(selection.description == shown)
        #expect(selection.fileName == fileName)
        #expect(PartitionSelection(shown) == selection)
    }

    @Test(arguments: [
        "", ",", "1,", "a", "-1", "3-1", "1-", "4/4", "5/4", "1/0", "/4", "1/", "1/2/3", "1.5", "+1", "99999999999",
        "0-2000000000", "2147483647",
    ])
    func `a text that is no selection is refused`(text: String) {
        #expect(PartitionSelection(text) == nil)
    }

    @Test func `shares of one count hold each partition once`() {
        for count in Int32(1)...5 {
            let shares = (0..<count).map { PartitionSelection.share(index: $0, count: count) }
            for partition in Int32(0)..<40 {
                #expect(shares.filter { $0.contains(partition) }.count == 1)
            }
        }
        #expect((0..<9).filter { PartitionSelection("0-3,7")?.contains($0) == true } == [0, 1, 2, 3, 7])
        #expect((0..<9).allSatisfy { PartitionSelection.all.contains($0) })
    }

    // MARK: The setting

    private func load(_ yaml: String, _ settings: [String] = []) throws(ConfigurationError) -> WorkerConfiguration {
        try WorkerConfiguration.load(yaml: yaml, name: "worker.yaml", settings: settings).configuration
    }

    @Test func `a selection is read from a file, a flag and a variable`() throws {
        #expect(try load("kafka: { partitions: \"0-3,7\" }").kafka.partitions == .list([0...3, 7...7]))
        #expect(try load("kafka: { partitions: [0, 1, 4-5] }").kafka.partitions == .list([0...1, 4...5]))
        #expect(try load("kafka: { partitions: 2 }").kafka.partitions == .list([2...2]))
        #expect(try load("kafka: { partitions: null }").kafka.partitions == nil)
        // A variable that is not set is no wish to read everything.
        #expect(throws: ConfigurationError.self) { try load("", ["kafka.partitions="]) }
        #expect(try load("", ["kafka.partitions=1/4"]).kafka.partitions == .share(index: 1, count: 4))
        let loaded = try WorkerConfiguration.load(
            yaml: "", name: "w", environment: ["INGEST_KAFKA_PARTITIONS": "3/4"])
        #expect(loaded.configuration.kafka.partitions == .share(index: 3, count: 4))
        #expect(loaded.configuration.kafka.properties["partitions"] == nil)
    }

    @Test func `a wrong selection is refused with its place`() throws {
        let error = #expect(throws: ConfigurationError.self) { try load("kafka:\n  partitions: \"4/4\"\n") }
        #expect(error?.problems.first?.origin == .file(path: "worker.yaml", line: 2, column: 15))
        #expect(error?.description.contains("index is below the count") == true)
    }

    @Test func `a selection stands in the store's path`() throws {
        let yaml = "store:\n  path: data/{partition}.sqlite\n"
        #expect(throws: ConfigurationError.self) {
            try load("", ["kafka.partitions=1/4", "store.path=data/{partitions}.sqlite"])
        }
        #expect(try load(yaml, ["kafka.partitions=0-3,7"]).store.path == "data/0-3_7.sqlite")
        #expect(try load(yaml, ["kafka.partitions=1/4"]).store.path == "data/1of4.sqlite")
        #expect(try load(yaml, ["kafka.partitions=1/4", "store.path=plain.sqlite"]).store.path == "plain.sqlite")
    }

    @Test func `without partitions the place stays a template, and each partition has a store`() throws {
        let configuration = try load("store:\n  path: data/{partition}.sqlite\n")
        #expect(configuration.hasStoreForEachPartition)
        let own = configuration.ofPartition(3)
        #expect(own.store.path == "data/3.sqlite" && own.kafka.partitions == .list([3...3]))
        #expect(!own.hasStoreForEachPartition && own.store.partition == 3)
        let transactional = try load("", ["store.path={partition}.sqlite", "kafka.transactional.id=worker"])
        #expect(transactional.ofPartition(3).kafka.properties["transactional.id"] == "worker-3")
        let server = try load("store:\n  url: postgres://u@h/d?schema=chat_{partition}\n")
        #expect(server.hasStoreForEachPartition)
        #expect(server.ofPartition(12).store.url == "postgres://u@h/d?schema=chat_12")
    }

    @Test func `a broadcast topic is for workers with a store for each of their partitions`() throws {
        let topics = "topics: [chats, {name: members, broadcast: true}]\n"
        let error = #expect(throws: ConfigurationError.self) { try load(topics) }
        #expect(error?.problems.first?.origin == .file(path: "worker.yaml", line: 1, column: 17))
        #expect(error?.description.contains("one store reads all topics") == true)
        #expect(try load(topics, ["kafka.partitions=0/2"]).broadcastTopics == ["members"])
        #expect(try load(topics, ["store.path=s-{partition}.sqlite"]).partitionedTopics == ["chats"])
        #expect(throws: ConfigurationError.self) {
            try load("topics: [{name: members, broadcast: true}]\n", ["store.path=s-{partition}.sqlite"])
        }
        #expect(throws: ConfigurationError.self) {
            try load("", ["store.url=postgres://u@h/d?schema=c_{partition}", "store.writers=many"])
        }
    }
}
