import ObjectGraph
import Testing

@testable import GraphCore

struct ClosestNameTests {
    @Test(arguments: [
        ("titel", "title"), ("TITLE", "title"), ("sendAt", "sentAt"), ("memberCount", "membersCount"), ("x", nil),
        ("somethingElse", nil),
    ])
    func findsWhatWasMeant(_ name: String, _ found: String?) {
        #expect(ClosestName.find(name, among: ["title", "sentAt", "membersCount"]) == found)
    }
}
