import Testing
@testable import ObjectGraph
@Test func a() { #expect(placeholder == 1) }
