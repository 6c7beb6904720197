import Foundation
import Glibc
import GraphCore

/// The room on the store's disk.
struct DiskRoom {
    let folder: String
    let freeBytes: Int
    let freeFiles: Int
    /// Whether the file system counts files at all.
    let hasFileLimit: Bool
    let storeBytes: Int

    /// With less a chunk may not fit.
    private static let leastBytes = 16 << 20
    /// With less the write-ahead log of a busy worker may not fit.
    private static let logBytes = 256 << 20
    private static let leastFiles = 100

    /// Judges the room: a backup or a migration beside the store needs as much as the store again.
    var outcome: Examination.Outcome {
        get throws(ExaminationError) {
            let free = "\(freeBytes >> 20) MiB are free at \(folder)"
            let lacksFiles = hasFileLimit && freeFiles < Self.leastFiles
            if freeBytes < Self.leastBytes || lacksFiles {
                throw ExaminationError(
                    code: .machine,
                    message: lacksFiles
                        ? "\(folder) takes \(counted(freeFiles, "more file")), and the store needs up to \(Self.leastFiles)"
                        : "\(free), and a chunk needs up to \(Self.leastBytes >> 20) MiB",
                    remedy: "Free space, or move the store: the worker stops reading once a write fails")
            }
            if freeBytes < Self.logBytes {
                return .warning(
                    "\(free), and the write-ahead log may take \(Self.logBytes >> 20) MiB",
                    remedy: "Free space before the log grows: the worker stops reading once a write fails")
            }
            guard freeBytes < storeBytes * 2 else { return .ok(free) }
            return .warning(
                "\(free), and the store has \(storeBytes >> 20) MiB",
                remedy: "Free space before the next migration or backup: each makes a copy of the store")
        }
    }
}

extension DiskRoom {
    /// Asks the file system of a store for its room; nil where it does not tell, with the reason in `errno`.
    init?(ofStore path: String) {
        let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let folder = Examiner.folder(of: path)
        let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
        var disk = statvfs()
        guard statvfs(folder, &disk) == 0 else { return nil }
        // Some file systems state numbers beyond any disk.
        let blockBytes = Int(clamping: disk.f_frsize)
        let (bytes, isBeyond) = Int(clamping: disk.f_bavail).multipliedReportingOverflow(by: blockBytes)
        self.init(
            folder: folder, freeBytes: isBeyond ? .max : bytes, freeFiles: Int(clamping: disk.f_favail),
            hasFileLimit: disk.f_files > 0, storeBytes: size)
    }

    /// The reason why the store takes no writes, with the remedy; nil where it has room.
    var fault: String? {
        do {
            _ = try outcome
            return nil
        } catch { return error.explanation }
    }
}
