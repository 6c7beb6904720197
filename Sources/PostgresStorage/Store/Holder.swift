import Foundation

/// This process, as a claim names its holder to people.
enum Holder {
    static let text = "process \(ProcessInfo.processInfo.processIdentifier) on \(ProcessInfo.processInfo.hostName)"
}
