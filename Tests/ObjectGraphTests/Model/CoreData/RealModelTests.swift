import Foundation
import Testing

@testable import ObjectGraph

/// Models of published apps, where they are at hand: each version is read, counted, written as YAML and opened.
@Suite struct RealModelTests {
    private func occurrences(_ pattern: String, in text: String) -> Int {
        text.components(separatedBy: pattern).count - 1
    }

    @Test(arguments: CoreDataModels.realBundles)
    func everyVersionIsReadAsItIs(bundle: String) throws {
        for file in CoreDataModelFile.versions(of: bundle) {
            let model = try ObjectModel.load(path: file.contents)
            let text = try String(contentsOfFile: file.contents, encoding: .utf8)
            let counts = model.counts
            #expect(counts.entities == occurrences("<entity ", in: text), "\(file.contents)")
            #expect(counts.attributes == occurrences("<attribute ", in: text), "\(file.contents)")
            #expect(counts.relationships == occurrences("<relationship ", in: text), "\(file.contents)")
            for (rule, name) in [
                (DeleteRule.cascade, "Cascade"), (.nullify, "Nullify"), (.deny, "Deny"), (.noAction, "No Action"),
            ] {
                #expect(counts.deleteRules[rule] ?? 0 == occurrences("deletionRule=\"\(name)\"", in: text))
            }
            let again = try ObjectModel.parse(model.yaml)
            #expect(again.hash == model.hash && again.yaml == model.yaml, "\(file.contents)")
            _ = try Graph(model)
        }
    }
}
