/// A small generator of random numbers (SplitMix64) whose runs can be repeated.
public struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Makes a generator; equal seeds give equal numbers.
    public init(seed: UInt64) { state = seed }

    /// Returns the next 64 random bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A seed of its own for each run, printed; `INGEST_TEST_SEED` replays one.
    public static func forTest(_ name: String) -> SeededRandom {
        let seed = Seeds.given ?? UInt64.random(in: 0...UInt64(UInt32.max))
        print("\(name): INGEST_TEST_SEED=\(seed)")
        return SeededRandom(seed: seed)
    }

    /// Returns a number from 0 to `limit` - 1; the limit has to be at least 1.
    public mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

    /// Replaces, inserts, deletes or repeats a few bytes.
    public mutating func mutate(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let notable: [UInt8] = Array("\"\\{}[]:,0-eE.\n\r tn;'\u{0}".utf8) + [0x80, 0xC3, 0xFF, 0xED, 0xF4]
        for _ in 0...number(below: 4) where !bytes.isEmpty {
            let position = number(below: bytes.count)
            let byte = number(below: 2) == 0 ? notable[number(below: notable.count)] : UInt8(number(below: 256))
            switch number(below: 5) {
            case 0: bytes[position] = byte
            case 1: bytes.insert(byte, at: position)
            case 2: bytes.remove(at: position)
            case 3: bytes.removeSubrange(position..<min(bytes.count, position + number(below: 9)))
            default:
                let slice = bytes[position..<min(bytes.count, position + number(below: 20))]
                bytes.insert(contentsOf: Array(slice), at: number(below: bytes.count))
            }
        }
        return bytes
    }
}
