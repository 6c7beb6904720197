/// Names the form of a log line.
public enum LogFormat: String, Sendable, CaseIterable {
    /// `2026-01-02T03:04:05.678Z info  message key=value`.
    case text
    /// One JSON object.
    case json
}
