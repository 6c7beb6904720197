import Glibc

/// Starts a thread of its own for calls that block.
enum DedicatedThread {
    private final class Start {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Runs the body on a new thread; throws when the system gives none.
    static func start(_ body: @escaping @Sendable () -> Void) throws {
        let start = Unmanaged.passRetained(Start(body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                start.body()
                return nil
            }, start.toOpaque())
        guard result == 0 else {
            start.release()
            throw KafkaError(.creationFailed, "the system gave no thread (error \(result))")
        }
        pthread_detach(thread)
    }

    /// Identifies the calling thread while it lives.
    static var current: UInt { UInt(pthread_self()) }
}
