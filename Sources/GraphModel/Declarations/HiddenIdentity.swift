/// The attribute that identifies the objects of an entity without an identity of its own.
package enum HiddenIdentity {
    /// The one property name that begins with an underscore.
    package static let name = "_identity"
}
