import Testing

@testable import KafkaClient

@Suite struct KafkaLibraryTests {
    @Test func `version numbers agree with the version text`() {
        #expect(KafkaLibrary.versionString.hasPrefix(KafkaLibrary.version.description))
        #expect(KafkaLibrary.version >= KafkaLibraryVersion(major: 2, minor: 0, revision: 2))
    }

    @Test func `versions compare by number not by text`() {
        let older = KafkaLibraryVersion(major: 2, minor: 9, revision: 9)
        #expect(older < KafkaLibraryVersion(major: 2, minor: 10, revision: 0))
        #expect(older < KafkaLibraryVersion(major: 3, minor: 0, revision: 0))
        #expect(!(older < older))
    }

    @Test func `partitions order by topic then number`() {
        let sorted = [TopicPartition("b", 0), TopicPartition("a", 10), TopicPartition("a", 9)].sorted()
        #expect(sorted == [TopicPartition("a", 9), TopicPartition("a", 10), TopicPartition("b", 0)])
        #expect(TopicPartition("a", 9).description == "a/9" && TopicPartition("a", -1).description == "a")
    }
}
