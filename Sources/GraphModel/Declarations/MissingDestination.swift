/// The treatment of a reference to an object that has not arrived.
public enum MissingDestination: String, Sendable, CaseIterable {
    /// An object with nothing but its identity stands in until its event comes.
    case placeholder
    /// The event goes to the dead letters.
    case reject
}
