import ArgumentParser
import GraphCore
import IngestCore
import Operations

extension ProbePath: ExpressibleByArgument {}

struct ProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Asks a probe of the running worker at its configured port, for the health check of a container.",
        discussion: """
            livez tells whether the worker's loop runs, readyz whether all checks pass. Ends with 0 if the worker \
            answers 200, else with 75 and the reason.
            Example: ingest-worker probe readyz --config /etc/ingest-worker/worker.yaml
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "livez or readyz.")
    var path = ProbePath.livez

    @Flag(help: "Prints one JSON object: probe, ok, and the reason where it fails.")
    var json = false

    func run() throws {
        let http = try options.load(takesAllStores: true).configuration.http
        guard http.enabled else {
            throw CommandError(
                code: ExitStatus.configuration,
                description: "http.enabled is false, so there is no probe. Set it to true, or check the process.")
        }
        let refusal = path.refusal(of: http)
        if json {
            var object = JSONObject(["probe": path.rawValue, "ok": refusal == nil])
            object.add("reason", refusal)
            Console.print(object.json)
        }
        if let refusal {
            throw CommandError(code: ExitStatus.tryAgain, description: refusal)
        }
    }
}
