extension PostgresStorage: StorageAdministration {
    func verify(
        _ snapshot: ReadContext, _ slices: VerificationSlices, progress: (VerificationStep) -> Void
    ) throws -> VerificationReport {
        try withoutActuallyEscaping(progress) { progress in
            try PostgresVerifier(snapshot, slices, VerificationProgress(progress)).verify()
        }
    }
}
