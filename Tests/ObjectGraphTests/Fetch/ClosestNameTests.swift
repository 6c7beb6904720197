import GraphModel
import Testing

struct ClosestNameTests {
    private let names = ["title", "sentAt", "membersCount", "store.path", "http.port", "http.host", "größe"]

    @Test(arguments: [
        ("titel", "title"), ("TITLE", "title"), ("sendAt", "sentAt"), ("memberCount", "membersCount"),
        ("store_path", "store.path"), ("htp.prot", "http.port"), ("grösse", "größe"), ("x", nil), ("", nil),
        ("somethingElse", nil), ("entirely.different", nil), (String(repeating: "x", count: 100_000), nil),
    ])
    func `a name close by is found, and no other`(_ name: String, _ found: String?) {
        #expect(ClosestName.find(name, among: names) == found)
    }
}
