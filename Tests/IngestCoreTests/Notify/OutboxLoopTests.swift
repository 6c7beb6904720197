import ObjectGraph
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import SQLiteStorage

/// When an outbox tries again, and when it ends.
@Suite struct OutboxLoopTests {
    @Test(arguments: [Int32(10), 11]) func `a failed disk is not tried again`(resultCode: Int32) {
        let loop = OutboxLoop()
        var tries = 0
        var failures = 0
        #expect(throws: StoreError.self) {
            try loop.run(
                next: {
                    tries += 1
                    // What passes by itself is tried again first.
                    throw StoreError(resultCode: tries == 1 ? 5 : resultCode, action: "read the store")
                },
                succeeded: {}, failed: { _ in failures += 1 })
        }
        #expect(tries == 2 && failures == 2)
    }
}
