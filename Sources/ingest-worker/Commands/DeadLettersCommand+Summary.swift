import ArgumentParser
import GraphCore

extension DeadLettersCommand {
    struct Summary: ReadingCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "summary",
            abstract: "Counts dead letters by code, topic and entity, with the first and the last time.",
            discussion: """
                The entity is the one at the beginning of the reason; - stands for none.
                Example: ingest-worker dead-letters summary --since 2026-03-01
                """)

        @OptionGroup var options: SharedOptions
        @OptionGroup var conditions: LetterConditions

        @OptionGroup var form: ListForm

        func run() throws {
            let selection = try conditions.selection()
            let store = try options.openForReading()
            let groups = try store.read { try $0.deadLetterGroups(selection) }
            for group in groups { form.print(group.text, json: group.json) }
            if !form.json { Console.print("\(counted(groups.reduce(0) { $0 + $1.count }, "dead letter"))") }
        }
    }
}

extension DeadLetterGroup {
    fileprivate var text: String {
        "\(count)  \(code)  \(topic)  \(entity ?? "-")  \(Timestamp.text(firstTime))  \(Timestamp.text(lastTime))"
    }
}
