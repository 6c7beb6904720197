/// Tells by a setting's name whether its value is a secret.
public enum SecretName {
    /// The text shown instead of a secret.
    public static let replacement = "[redacted]"

    private static let parts = [
        "password", "passwd", "passphrase", "secret", "token", "credential", "jaas", "key.pem", "oauthbearer.config",
        "authorization", "apikey", "api.key", "api_key", "privatekey", "private.key",
    ]

    /// Says whether a setting with this name holds a secret.
    public static func matches(_ name: String) -> Bool {
        let name = name.lowercased()
        return parts.contains { name.contains($0) }
    }
}
