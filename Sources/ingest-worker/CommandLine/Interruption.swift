@preconcurrency import Dispatch
import Foundation
import Synchronization

/// Notes SIGINT and SIGTERM, so that a command can end at a good place.
final class Interruption: Sendable {
    private let requested = Atomic<Bool>(false)
    private let sources: [any DispatchSourceSignal]

    init() {
        var sources: [any DispatchSourceSignal] = []
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            sources.append(DispatchSource.makeSignalSource(signal: number, queue: .global()))
        }
        self.sources = sources
        for source in sources {
            source.setEventHandler { [weak self] in
                self?.requested.store(true, ordering: .releasing)
                // Reading a pipe that nobody writes does not return; what is committed is safe whenever it ends.
                DispatchQueue.global().asyncAfter(deadline: .now() + 5) { _exit(ExitStatus.tryAgain) }
            }
            source.resume()
        }
    }

    var isRequested: Bool { requested.load(ordering: .acquiring) }
}
