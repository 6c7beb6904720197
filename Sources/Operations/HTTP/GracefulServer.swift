import Hummingbird
import HummingbirdCore
import Logging
import ServiceLifecycle

/// Runs an application of Hummingbird, and lets it end gracefully however its task ends.
///
/// SwiftNIO ends the process for a connection that was accepted and never handed on
/// (<https://github.com/apple/swift-nio/issues/2637>). Two ends of a server leave such connections behind:
///
/// | end | kept by |
/// |---|---|
/// | The serving task is cancelled, and drops the connections that wait for it. | The application has a task of its own, which no cancellation reaches. |
/// | The listener closes on its loop while another loop prepares an accepted connection. | All connections share one event loop, and its queue is in order. |
package struct GracefulServer<Responder: HTTPResponder>: Sendable
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    private let application: Application<Responder>
    private let started: AsyncStream<Void>
    private let noteStart: AsyncStream<Void>.Continuation
    private let logger: Logger

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - responder: Answers the requests.
    ///   - server: The protocol that it speaks.
    ///   - configuration: Where it listens.
    ///   - logger: Takes the notes of the server.
    ///   - onBound: Takes the port once the server listens.
    package init(
        responder: Responder, server: HTTPServerBuilder, configuration: ApplicationConfiguration, logger: Logger,
        onBound: @escaping @Sendable (Int) async -> Void
    ) {
        let (started, noteStart) = AsyncStream<Void>.makeStream()
        (self.started, self.noteStart, self.logger) = (started, noteStart, logger)
        application = Application(
            responder: responder, server: server, configuration: configuration,
            onServerRunning: { channel in
                noteStart.finish()
                await onBound(channel.localAddress?.port ?? 0)
            },
            eventLoopGroupProvider: .shared(EventLoopGroupProvider.singleton.eventLoopGroup.next()), logger: logger)
    }

    /// Serves until the task is cancelled, or a graceful shutdown is over.
    ///
    /// - Parameter onCancel: Closes the open connections.
    /// - Throws: the error for which the server cannot listen.
    package func run(onCancel: @escaping @Sendable () -> Void) async throws {
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [application], logger: logger))
        let serving = Task.detached { [noteStart] in
            defer { noteStart.finish() }
            try await group.run()
        }
        let (requests, ending) = AsyncStream<Void>.makeStream()
        let stopping = Task.detached { [started] in
            for await _ in requests {}
            // A server that is shut down while it binds drops its own listener.
            for await _ in started {}
            await group.triggerGracefulShutdown()
        }
        defer { stopping.cancel() }
        try await withTaskCancellationHandler {
            try await withGracefulShutdownHandler {
                try await serving.value
            } onGracefulShutdown: {
                ending.finish()
            }
        } onCancel: {
            onCancel()
            ending.finish()
        }
    }
}
