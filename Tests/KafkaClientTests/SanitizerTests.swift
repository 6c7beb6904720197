import Foundation
import Testing

/// What the sanitizers have to find, or their silence would mean nothing. `Tests/Sanitize/run` asks for it.
@Suite struct SanitizerTests {
    private static let planted = ProcessInfo.processInfo.environment["INGEST_TEST_PLANTED"]

    @Test(.enabled(if: planted == "thread")) func `two threads that change a value at once are found`() {
        nonisolated(unsafe) let value = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        value.initialize(to: 0)
        let finished = DispatchSemaphore(value: 0)
        for _ in 0..<2 {
            Thread.detachNewThread {
                for _ in 0..<1_000 { value.pointee += 1 }
                finished.signal()
            }
        }
        for _ in 0..<2 { finished.wait() }
        value.deallocate()
    }

    @Test(.enabled(if: planted == "address")) func `memory that is read after it was given back is found`() {
        let value = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        value.initialize(to: 0)
        value.deallocate()
        print(value.pointee)
    }
}
