import Foundation
import Testing

/// The article for those who come from Core Data: its table has each type of the framework, and what it names of ours
/// is there.
@Suite struct CoreDataArticleTests {
    private static let rows: [(coreData: String, here: String)] = {
        let article = (try? PackageFiles.text("Sources/ObjectGraph/ObjectGraph.docc/ComingFromCoreData.md")) ?? ""
        return article.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| Core Data |") }
            .map { line in
                let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                return (cells.first ?? "", cells.dropFirst().joined(separator: "|"))
            }
    }()

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
            for match in here.matches(of: /``(\w+)``/) {
                #expect(Self.declared.types.contains(String(match.1)), "``\(match.1)`` is no public type")
            }
            for match in here.replacing(/``\w+``/, with: "").matches(of: /`([^`]+)`/) {
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
}
