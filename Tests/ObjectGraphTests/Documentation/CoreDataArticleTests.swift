import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// The article for those who come from Core Data: its table has each type of the framework, and what it names of ours
/// is there.
@Suite struct CoreDataArticleTests {
    /// The rows of the article's tables, by the heading of their first column.
    private static let tables: [String: [(first: String, second: String)]] = {
        let article = (try? PackageFiles.text("Sources/ObjectGraph/ObjectGraph.docc/ComingFromCoreData.md")) ?? ""
        var tables: [String: [(String, String)]] = [:]
        var heading: String?
        for line in article.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("|") else {
                heading = nil
                continue
            }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard let table = heading else {
                heading = cells.first
                continue
            }
            if line.hasPrefix("| ") {
                tables[table, default: []].append((cells.first ?? "", cells.dropFirst().joined(separator: "|")))
            }
        }
        return tables
    }()

    private static var rows: [(coreData: String, here: String)] {
        tables["Core Data", default: []].map { ($0.first, $0.second) }
    }

    /// The public declarations of the library by name: those of types, and all.
    private static let declared: (types: Set<String>, all: Set<String>) = {
        let folder = PackageFiles.root.appendingPathComponent("Sources").path
        let files = ["GraphModel", "GraphCore", "SQLiteStorage", "MemoryStorage", "ObjectGraph"].flatMap { target in
            FileManager.default.enumerator(atPath: "\(folder)/\(target)")?.compactMap { "\(target)/\($0)" } ?? []
        }
        var (types, all): (Set<String>, Set<String>) = ([], [])
        for file in files where file.hasSuffix(".swift") {
            guard let text = try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8) else { continue }
            for line in text.split(separator: "\n") {
                let code = line.drop { $0 == " " }
                if let name = code.firstMatch(of: /^case (\w+)/)?.1 { all.insert(String(name)) }
                guard code.hasPrefix("public ") || code.hasPrefix("open "),
                    let match = code.firstMatch(
                        of: /\b(struct|class|enum|actor|protocol|typealias|func|var|let) `?([A-Za-z]\w*)/)
                else { continue }
                all.insert(String(match.2))
                if !["func", "var", "let"].contains(String(match.1)) { types.insert(String(match.2)) }
            }
        }
        return (types, all)
    }()

    /// The public types of the framework, as its headers have them, and what comes with them.
    @Test(
        arguments: """
            NSManagedObjectModel NSManagedObjectModelReference NSEntityDescription NSPropertyDescription
            NSAttributeDescription NSAttributeType NSDerivedAttributeDescription NSCompositeAttributeDescription
            NSRelationshipDescription NSDeleteRule NSFetchedPropertyDescription NSExpressionDescription
            NSFetchIndexDescription NSFetchIndexElementDescription NSPersistentContainer NSPersistentCloudKitContainer
            NSPersistentCloudKitContainerOptions NSPersistentCloudKitContainerEvent NSPersistentStoreCoordinator
            NSPersistentStore NSPersistentStoreDescription NSPersistentStoreRequest NSPersistentStoreResult
            NSPersistentStoreAsynchronousResult NSSaveChangesRequest NSAtomicStore NSAtomicStoreCacheNode
            NSIncrementalStore NSIncrementalStoreNode NSManagedObjectContext NSManagedObjectContextConcurrencyType
            NSManagedObject NSManagedObjectID NSFetchRequest NSFetchRequestResult NSFetchRequestExpression
            NSAsynchronousFetchRequest NSAsynchronousFetchResult NSFetchedResultsController
            NSFetchedResultsControllerDelegate NSFetchedResultsSectionInfo NSBatchInsertRequest NSBatchInsertResult
            NSBatchUpdateRequest NSBatchUpdateResult NSBatchDeleteRequest NSBatchDeleteResult NSMergePolicy
            NSMergePolicyType NSMergeConflict NSConstraintConflict NSMappingModel NSEntityMapping NSPropertyMapping
            NSEntityMigrationPolicy NSMigrationManager NSMigrationStage NSLightweightMigrationStage
            NSCustomMigrationStage NSStagedMigrationManager NSPersistentHistoryChangeRequest NSPersistentHistoryResult
            NSPersistentHistoryTransaction NSPersistentHistoryChange NSPersistentHistoryToken NSQueryGenerationToken
            NSCoreDataCoreSpotlightDelegate NSValueTransformer NSPredicate NSExpression NSSortDescriptor
            NSCocoaErrorDomain NSDetailedErrorsKey
            """.split(whereSeparator: \.isWhitespace).map(String.init))
    func `each type of Core Data has a row`(_ type: String) {
        let found = Self.rows.filter { $0.coreData.contains("`\(type)`") }
        #expect(!found.isEmpty, "no row says where \(type) is")
    }

    /// Each row names something of ours, or says that there is nothing.
    @Test func `each row says where or that there is none`() {
        #expect(Self.rows.count > 50)
        for row in Self.rows {
            let names = row.here.contains("``") || row.here.contains("`Store.")
            #expect(
                names || row.here.hasPrefix("none") || row.here.hasPrefix("kept"),
                "nothing of ours is named: \(row.coreData)")
        }
    }

    @Test func `each symbol that the table names is there`() throws {
        let model = try PackageFiles.text("docs/reference/model.md")
        #expect(Self.declared.types.contains("EditingContext") && !Self.declared.types.contains("Nothing"))
        for (_, here) in Self.rows {
            // ``EditingContext/Options/author``: a type, then members of it.
            for match in here.matches(of: /``(\w+)((?:\/[^`]+)?)``/) {
                #expect(Self.declared.types.contains(String(match.1)), "``\(match.1)`` is no public type")
                for member in match.2.split(separator: "/").map({ $0.prefix { $0 != "(" && $0 != "-" } }) {
                    #expect(Self.declared.all.contains(String(member)), "'\(member)' of \(match.1) is not public")
                }
            }
            for match in here.replacing(/``[^`]+``/, with: "").matches(of: /`([^`]+)`/) {
                let name = String(match.1)
                if name.hasSuffix(".md") {
                    #expect((try? PackageFiles.text(name)) != nil, "\(name) is not there")
                } else if name.firstMatch(of: /^(NS|[A-Z]+$|[^A-Za-z])/) == nil {
                    // `Store.inMemory(model:options:)`, `undo()`, `properties`; or a word of the model file.
                    for part in name.prefix(while: { $0 != "(" }).split(separator: ".") {
                        #expect(
                            Self.declared.all.contains(String(part)) || model.contains("`\(part)`"),
                            "'\(name)' is neither public nor a word of docs/reference/model.md")
                    }
                }
            }
        }
    }

    /// The numbers of all errors, with our own code where an error has one.
    private static let numbers: [Int: Set<String>] = {
        var numbers: [Int: Set<String>] = [1560: []]
        for reason in ValidationFailure.Reason.allCases { numbers[reason.rawValue] = [] }
        let refusals = [EditingError.Code.mergeConflict, .constraintConflict, .objectGone]
        let migrations = [MigrationError.Code.notInferable, .rows, .failed, .missingSource, .missingStage]
        let coded =
            StoreError.Code.allCases.map { ($0.rawValue, StoreError($0, "", remedy: "").coreDataCode) }
            + refusals.map { ($0.rawValue, EditingError($0, "").coreDataCode) }
            + migrations.map { ($0.rawValue, MigrationError($0, "", remedy: "").coreDataCode) }
            + [(BatchError.Code.refused.rawValue, BatchError(.refused, "", remedy: "").coreDataCode)]
        for (code, number) in coded {
            if let number { numbers[number, default: []].insert(code) }
        }
        return numbers
    }()

    @Test func `the table of numbers has each number with its code`() {
        var shown: [Int: Set<String>] = [:]
        for (numbers, error) in Self.tables["number", default: []] {
            let codes = error.matches(of: /`([a-z]+\.[a-z_]+)`/).map { String($0.1) }
            for number in numbers.split(separator: ", ") { shown[Int(number) ?? 0] = Set(codes) }
        }
        #expect(shown == Self.numbers)
    }
}
