/// Ways to do the same to copies of stores that hold the same.
protocol Comparison {
    static var name: String { get }
    static var standardCount: Int { get }
    init(count: Int)
    var count: Int { get }
    /// What is compared with what.
    var pairs: [Pairing] { get }
    /// Makes the store that a way begins with.
    func prepare(_ way: String, path: String) throws
    /// Does it one way.
    func step(_ way: String, path: String) throws -> Measurement
    /// What else is to be said, given the store of the first way.
    func notes(path: String) throws -> [String]
}

extension Comparison {
    func notes(path: String) throws -> [String] { [] }
}

/// A way that is compared with another one.
struct Pairing {
    let title: String
    let base: String
    let way: String
    /// The ratio of the times that is aimed at, or nil for none.
    let aim: Double?
    let growthAimMegabytes: Double?

    init(_ title: String, base: String, way: String, aim: Double?, growthAimMegabytes: Double? = nil) {
        self.title = title
        self.base = base
        self.way = way
        self.aim = aim
        self.growthAimMegabytes = growthAimMegabytes
    }
}
