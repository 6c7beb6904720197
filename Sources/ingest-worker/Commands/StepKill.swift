import Foundation

/// Crashes that tests order.
enum StepKill {
    /// Ends the process as a crash does after the step that INGEST_TEST_KILL_AT names.
    @Sendable static func dieWhereATestSays(_ step: String) {
        if ProcessInfo.processInfo.environment["INGEST_TEST_KILL_AT"] == step { kill(getpid(), SIGKILL) }
    }
}
