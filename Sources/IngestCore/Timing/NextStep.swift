/// When a loop's next step is due, as its last step says.
package struct NextStep: Equatable, Sendable {
    /// The time, in seconds of the loop's clock.
    package let seconds: Double
    /// Whether news make the step due earlier: records, commits, requests.
    package let comesWithNews: Bool

    /// The step is due at a time, whatever comes before.
    package static func at(_ seconds: Double) -> NextStep { NextStep(seconds: seconds, comesWithNews: false) }

    /// The step is due with the first news, and at a time where none come.
    package static func withNews(by seconds: Double) -> NextStep { NextStep(seconds: seconds, comesWithNews: true) }
}
