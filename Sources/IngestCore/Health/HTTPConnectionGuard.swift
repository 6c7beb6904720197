import NIOCore
import NIOHTTPTypes

/// The times after which a slow client is dropped.
struct HTTPTimeouts: Sendable {
    let request: TimeAmount
    let idle: TimeAmount
    let write: TimeAmount
}

/// Drops a connection that is one too many, asks too slowly, idles too long, or does not take its answer.
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
    private var isAdmitted = false
    private var isReading = false
    private var unanswered = 0
    private var askTimer: Scheduled<Void>?
    private var writeTimer: Scheduled<Void>?

    init(connections: HTTPConnections, timeouts: HTTPTimeouts) {
        self.connections = connections
        self.timeouts = timeouts
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
        switch unwrapInboundIn(data) {
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
        }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        writeTimer?.cancel()
        if !context.channel.isWritable { writeTimer = closing(after: timeouts.write, context) }
        context.fireChannelWritabilityChanged()
    }

    private func admit(_ context: ChannelHandlerContext) {
        guard !isAdmitted else { return }
        isAdmitted = true
        if connections.admit(context.channel) {
            wait(timeouts.request, context)
        } else {
            context.close(promise: nil)
        }
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
