import CPostgres
import Foundation

extension PostgresConnection {
    /// Gives the connection up, where libpq has failed within a round trip.
    func giveUp(_ action: String) -> StoreError {
        isAdrift = true
        return .disconnected(action)
    }

    /// Tells whether libpq says that it has no memory. It has no other language here.
    static func isShortOfMemory(_ message: UnsafePointer<CChar>?) -> Bool {
        // There may be no memory for a message either.
        message.map { String(cString: $0).contains("out of memory") } ?? true
    }

    /// Waits for the next result. Where libpq has no memory for one, it waits for ever for what has come already.
    func nextResult() -> OpaquePointer? {
        while !isLost, PQisBusy(pointer) == 1 {
            if Self.isShortOfMemory(PQerrorMessage(pointer)) {
                isAdrift = true
                return nil
            }
            var arrival = pollfd(fd: PQsocket(pointer), events: Int16(POLLIN), revents: 0)
            poll(&arrival, 1, -1)
            if PQconsumeInput(pointer) == 0 { break }
        }
        return PQgetResult(pointer)
    }

    /// Returns the error of a statement that failed.
    ///
    /// - Parameter refusal: the error that the statement stands for where it refuses.
    func failure(_ result: OpaquePointer, _ action: String, refusal: StoreError? = nil) -> StoreError {
        func field(_ name: Character) -> String {
            PQresultErrorField(result, Int32(name.asciiValue ?? 0)).map { String(cString: $0) } ?? ""
        }
        let state = field("C")
        if state.isEmpty { return giveUp(action) }
        if let refusal, state == PostgresStatement.refusalState { return refusal }
        // The message of an error of the language has names; the message of an error of a value has the value.
        let isOfLanguage = state.hasPrefix("42") || state.hasPrefix("0A") || state.hasPrefix("25")
        let place = [field("t"), field("c"), field("n")].filter { !$0.isEmpty }.joined(separator: ", ")
        // The details name the objects that depend on a table or view that is to go.
        let dependents = state == "2BP01" ? field("D").split(separator: "\n").joined(separator: "; ") : nil
        return StoreError(sqlState: state, action: action, place: dependents ?? (isOfLanguage ? field("M") : place))
    }
}
