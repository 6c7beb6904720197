import NIOCore
import NIOHTTPTypes

/// The times after which a slow client is dropped.
struct HTTPTimeouts: Sendable {
    let request: TimeAmount
    let idle: TimeAmount
    let write: TimeAmount
}

/// Drops a connection that is one too many, asks too slowly, idles too long or does not take its answer. A connection
/// that asks too often before it has an answer is dropped, too.
///
/// Two timers: one runs while the server waits for the client to ask, the other while the client has not taken what was
/// written.
final class HTTPConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let connections: HTTPConnections
    private let timeouts: HTTPTimeouts
    private let maximumUnanswered: Int
    private var isAdmitted = false
    private var isForProbes = false
    private var isReading = false
    private var unanswered = 0
    private var askTimer: Scheduled<Void>?
    private var writeTimer: Scheduled<Void>?

    init(connections: HTTPConnections, timeouts: HTTPTimeouts, maximumUnanswered: Int) {
        self.connections = connections
        self.timeouts = timeouts
        self.maximumUnanswered = maximumUnanswered
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { admit(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        admit(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop(context)
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { connections.noteDeparture(context.channel) }
        context.fireUserInboundEventTriggered(event)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stop(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Requests that came together are read together, also behind the one that closes the connection.
        guard context.channel.isActive, unanswered <= maximumUnanswered else { return }
        switch unwrapInboundIn(data) {
        case .head where unanswered == maximumUnanswered:
            unanswered += 1
            return context.close(promise: nil)
        case .head:
            isReading = true
            unanswered += 1
            wait(timeouts.request, context)
        case .body: break
        case .end:
            isReading = false
            if unanswered > 0 {
                askTimer?.cancel()
                connections.beginAnswer(context.channel)
            } else {
                // The answer was sent before the body had come.
                idle(context)
            }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            unanswered -= 1
            // A body that still comes in keeps the timer of its request.
            if unanswered <= 0, !isReading { idle(context) }
            if isForProbes { return answerProbe(data, promise, context) }
        }
        context.write(data, promise: promise)
    }

    /// Ends the answer of a probe, and the connection with it: its place is for the next probe.
    private func answerProbe(_ data: NIOAny, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        let written = promise ?? context.eventLoop.makePromise()
        let channel = context.channel
        written.futureResult.whenComplete { _ in channel.close(promise: nil) }
        context.write(data, promise: written)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        writeTimer?.cancel()
        connections.noteWritability(context.channel)
        if !context.channel.isWritable { writeTimer = closing(after: timeouts.write, context) }
        context.fireChannelWritabilityChanged()
    }

    private func admit(_ context: ChannelHandlerContext) {
        guard !isAdmitted else { return }
        isAdmitted = true
        guard let place = connections.admit(context.channel) else { return context.close(promise: nil) }
        isForProbes = place == .probe
        wait(timeouts.request, context)
    }

    private func stop(_ context: ChannelHandlerContext) {
        askTimer?.cancel()
        writeTimer?.cancel()
        connections.remove(context.channel)
    }

    /// Waits for the next request.
    private func idle(_ context: ChannelHandlerContext) {
        connections.endAnswer(context.channel)
        wait(timeouts.idle, context)
    }

    private func wait(_ time: TimeAmount, _ context: ChannelHandlerContext) {
        askTimer?.cancel()
        askTimer = closing(after: time, context)
    }

    private func closing(after time: TimeAmount, _ context: ChannelHandlerContext) -> Scheduled<Void> {
        let channel = context.channel
        return context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}

@available(*, unavailable)
extension HTTPConnectionGuard: Sendable {}
