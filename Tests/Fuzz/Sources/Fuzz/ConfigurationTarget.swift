import IngestCore

/// Configuration files: loaded, or refused with every mistake's place.
struct ConfigurationTarget: FuzzTarget {
    func take(_ bytes: UnsafeRawBufferPointer) throws {
        do {
            let loaded = try WorkerConfiguration.load(
                yaml: String(decoding: bytes, as: UTF8.self), name: "fuzz.yaml", settings: [], environment: [:])
            _ = loaded.describe()
        } catch {
            if error.description.isEmpty { throw Broken("an error without words") }
        }
    }
}
