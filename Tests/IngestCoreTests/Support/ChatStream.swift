import Simulation
import TestSupport

/// A stream of chat events as it may come: repeated, late, deleted and brought back, nested, broken.
struct ChatStream {
    private var random: SeededRandom
    private let stream = EventStream()

    init(_ random: SeededRandom) { self.random = random }

    mutating func events(_ count: Int) -> [String] {
        var events: [String] = []
        for number in 0..<count {
            if !events.isEmpty, random.number(below: 12) == 0 {
                events.append(events[random.number(below: events.count)])
            } else {
                events.append(stream.event(number, &random))
            }
        }
        return events
    }
}
