extension SQLiteStorage: StorageAdministration {
    func verify(
        _ snapshot: ReadContext, _ slices: VerificationSlices, progress: (VerificationStep) -> Void
    ) throws -> VerificationReport {
        try withoutActuallyEscaping(progress) { progress in
            try SQLiteVerifier(snapshot, slices, progress: VerificationProgress(progress)).verify()
        }
    }
}
