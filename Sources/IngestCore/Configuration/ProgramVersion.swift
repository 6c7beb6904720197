/// The version that logs, metrics and `/status` show.
package enum ProgramVersion {
    /// The version, by semantic versioning.
    package static let text = "0.1.0"
}
