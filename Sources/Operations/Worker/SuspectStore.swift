import GraphCore
import IngestCore
import Logging

extension WorkerConfiguration {
    /// Verifies a store whose disk failed. Probes, `/status` and the service manager hear how far that is.
    func verifySuspect(_ store: Store, _ hooks: WorkerRuntime.Hooks, _ logger: Logger) throws {
        guard store.needsVerification else { return }
        logger.warning("the disk failed under the store: it is verified before anything is written")
        let console = WorkConsole(.verification, configuration: self, model: store.model, logger: logger)
        console.show(ProgressMeter.Step("verifying the store"))
        hooks.notifier?.tell(of: console.subject)
        defer {
            hooks.notifier?.tell(of: nil)
            console.close()
        }
        if http.enabled { hooks.onHTTPBound(try console.listen()) }
        var last = ""
        try store.verifyIfNeeded { step in
            console.show(ProgressMeter.Step("verifying the store", share: step.share))
            if step.check != last { hooks.onVerification(step.check) }
            last = step.check
        }
    }
}
