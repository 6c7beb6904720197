import CLibrdkafka
import Foundation
import Synchronization

/// Knows which connections of a client stand, and tells that one of them has ended.
///
/// The library's error callback omits some losses, and in newer versions most of them. Its log omits repetitions within
/// 30 seconds, and connections that were idle. The states of its brokers show each loss, in every version, before the
/// library connects again.
final class ConnectionWatch: Sendable {
    /// The brokers that are connected, each by the library's thread that serves it: names and numbers change.
    private let connected = Mutex<Set<UInt>>([])
    private let hasLost = Atomic<Bool>(false)
    private static let connectedStates: Set = ["UP", "UPDATE", "REAUTH"]

    /// Tells whether a connection was lost since the last call.
    func takeLoss() -> Bool { hasLost.exchange(false, ordering: .acquiringAndReleasing) }

    /// Notes a broker's new state. A failed attempt to connect is no loss. Neither is the end of a connection that
    /// brings no records: a connection to an address of `bootstrap.servers` has no number. Newer versions close that
    /// connection when they know the brokers.
    ///
    /// - Parameters:
    ///   - state: the library's name of the state.
    ///   - number: the broker's number in the cluster, or -1.
    ///   - broker: the thread that serves it.
    func note(state: String, number: Int32, of broker: UInt) {
        let wasConnected = connected.withLock { connected in
            if Self.connectedStates.contains(state) {
                connected.insert(broker)
                return false
            }
            return connected.remove(broker) != nil
        }
        if wasConnected, number >= 0 { hasLost.store(true, ordering: .releasing) }
    }

    /// Has the library tell the states of a client's brokers.
    static func install(on configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, interceptor,
            { client, _, _, _, _ in
                guard let client else { return RD_KAFKA_RESP_ERR_NO_ERROR }
                return rd_kafka_interceptor_add_on_broker_state_change(
                    client, ConnectionWatch.interceptor,
                    { _, number, _, _, _, state, opaque in
                        // On the broker's thread, which holds its lock: the library may not be called here.
                        guard let state, let callbacks = NativeCallbacks.from(opaque) else {
                            return RD_KAFKA_RESP_ERR_NO_ERROR
                        }
                        callbacks.connections.note(
                            state: String(cString: state), number: number, of: UInt(pthread_self()))
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, rd_kafka_opaque(client))
            }, nil)
    }

    private static let interceptor = "connections"
}
