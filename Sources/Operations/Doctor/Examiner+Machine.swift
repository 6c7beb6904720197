import Foundation
import GraphCore
import IngestCore
import KafkaClient
import SQLiteStorage

/// Examinations of the machine: disk, permissions, limits, certificates, libraries.
extension Examiner {
    /// The store's file. SQLite follows symbolic links, and keeps its log beside the file that it finds.
    private var storePath: String? { configuration.isStoreInFile ? configuration.storeLocation : nil }

    /// The folder of a file, or the nearest one above that is there, behind symbolic links.
    static func folder(of path: String) -> String {
        var folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        // A folder that this user may not look into is there.
        while access(folder.path, F_OK) != 0, [ENOENT, ENOTDIR].contains(errno), folder.path != "/" {
            folder.deleteLastPathComponent()
        }
        return folder.resolvingSymlinksInPath().path
    }

    // MARK: The disk

    func examineDisk() throws -> Examination.Outcome {
        guard let path = storePath else { return .skipped("the store is in PostgreSQL") }
        let folder = Self.folder(of: path)
        let mounts = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
        if let system = MountTable(mounts).fileSystem(of: folder), MountTable.networkSystems.contains(system) {
            throw ExaminationError(
                code: .machine, message: "The store would be on a network file system, \(system), at \(folder)",
                remedy: "Put it on a disk of this machine: locks and shared memory do not hold over a network")
        }
        guard let room = DiskRoom(ofStore: path) else {
            return .warning("\(folder) cannot be examined: \(String(cString: strerror(errno)))", remedy: "Look at it")
        }
        return try room.outcome
    }

    // MARK: Permissions

    func examinePermissions() throws -> Examination.Outcome {
        guard let path = storePath else { return .skipped("the store is in PostgreSQL") }
        let folder = Self.folder(of: path)
        for place in [folder] + ["", "-wal", "-shm"].map({ path + $0 }) {
            if access(place, R_OK | W_OK) == 0 { continue }
            let reason = errno
            if [ENOENT, ENOTDIR].contains(reason) { continue }
            throw ExaminationError(
                code: .machine, message: "This user may not write \(place): \(String(cString: strerror(reason)))",
                remedy: "Run the command as the worker's user, or give it the file: chown, chmod u+rw")
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: folder)
        if let mode = attributes[.posixPermissions] as? Int, mode & 0o002 != 0, mode & 0o1000 == 0 {
            return .warning(
                "everybody may write the folder \(folder)", remedy: "Take the right away: chmod o-w \(folder)")
        }
        return .ok("\(folder) may be written")
    }

    // MARK: Limits

    /// The descriptors for the store, the broker's connections, the log and the jq programs.
    private static let ownDescriptors = 256

    func examineLimits() -> Examination.Outcome {
        // A running worker has the limits of its service, not of this shell.
        let worker = (try? writer()) ?? nil
        let process = worker.map { "\($0)" } ?? "self"
        guard let text = try? String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8),
            let limit = Self.openFiles(limits: text)
        else { return .skipped("the limits of process \(process) cannot be read") }
        let needed = (configuration.http.enabled ? configuration.http.maxConnections : 0) + Self.ownDescriptors
        guard limit >= needed else {
            return .warning(
                "the process may open \(counted(limit, "file")), and may need \(needed)",
                remedy: "Raise the limit with LimitNOFILE or ulimit -n, or lower http.maxConnections")
        }
        return .ok("\(counted(limit, "open file"))\(worker == nil ? "" : " for process \(process)")")
    }

    /// Returns the soft limit of open files that `/proc/PID/limits` states.
    static func openFiles(limits: String) -> Int? {
        let name = "Max open files"
        guard let line = limits.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        let soft = line.dropFirst(name.count).split(separator: " ").first
        return soft == "unlimited" ? .max : soft.flatMap { Int($0) }
    }

    // MARK: Certificates and libraries

    /// The files of certificates that the configuration names, for Kafka, the schema registry and PostgreSQL.
    private var certificateFiles: (ofClients: [String], ofAuthorities: [String]) {
        let properties = configuration.kafka.properties
        let query = configuration.store.url?.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        func ofServer(_ name: String) -> String? {
            let parameters = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
            return parameters.last { $0.count == 2 && $0[0] == name }?[1].removingPercentEncoding
        }
        let authorities = [
            properties["ssl.ca.location"], configuration.schemaRegistry.caFile, ofServer("sslrootcert"),
        ]
        return (
            [properties["ssl.certificate.location"], ofServer("sslcert")].compactMap(\.self),
            authorities.compactMap(\.self).filter { !["probe", "system"].contains($0) && !Self.isFolder($0) }
        )
    }

    /// Whether a path names a folder, as `ssl.ca.location` may: it has the certificates of a system, most of them
    /// unused.
    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    func examineCertificates() throws -> Examination.Outcome {
        let now = WriterContext.systemTime() / 1_000_000
        var first: CertificateEnd?
        let (ofClients, ofAuthorities) = certificateFiles
        for path in ofClients + ofAuthorities {
            guard let ends = CertificateFile.ends(ofFile: path), let own = ends.first, let last = ends.max() else {
                throw ExaminationError(
                    code: .certificate, message: "\(path) has no certificate that can be read",
                    remedy: "Name a file in PEM form that this user may read")
            }
            // A client's own certificate is the first; its authorities' certificates follow. An authority's bundle has
            // certificates that nobody uses any more: one that is valid is enough there.
            let end = CertificateEnd(path: path, time: ofClients.contains(path) ? own : last)
            if end.time < first?.time ?? .max { first = end }
        }
        guard let first else { return .skipped("no files of certificates are configured") }
        return try first.outcome(now: now)
    }

    func examineVersions() -> Examination.Outcome {
        let versions =
            "ingest-worker \(ProgramVersion.text), librdkafka \(KafkaLibrary.versionString), "
            + "SQLite \(Store.sqliteVersion)"
        // cooperative-sticky is refused there, as the configuration's check says.
        guard KafkaLibrary.version < KafkaLibraryVersion(major: 2, minor: 0, revision: 2) else { return .ok(versions) }
        return .warning(versions, remedy: "Install librdkafka 2.0.2 or newer: earlier ones are not tested")
    }
}

/// The file systems that are mounted, as `/proc/self/mountinfo` lists them.
struct MountTable {
    /// File systems over a network, where SQLite's locks and shared memory do not hold.
    static let networkSystems: Set = [
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.glusterfs",
        "fuse.s3fs", "afs", "beegfs",
    ]

    private let mounts: [(point: String, system: String)]

    init(_ text: String) {
        mounts = text.split(separator: "\n").compactMap { line -> (point: String, system: String)? in
            // Optional fields end with a hyphen; the type of the file system follows.
            let fields = line.split(separator: " ")
            guard fields.count > 4, let end = fields.firstIndex(of: "-"), end + 1 < fields.count else { return nil }
            return (point: String(fields[4]).replacing("\\040", with: " "), system: String(fields[end + 1]))
        }
    }

    /// Returns the type of the file system that has a folder; the last of several mounts at one place counts.
    func fileSystem(of folder: String) -> String? {
        let holding = mounts.filter { mount in
            mount.point == "/" || folder == mount.point || folder.hasPrefix(mount.point + "/")
        }
        let longest = holding.map(\.point.utf8.count).max()
        return holding.last { $0.point.utf8.count == longest }?.system
    }
}

/// The end of a certificate's validity, in seconds since 1970 UTC.
struct CertificateEnd {
    let path: String
    let time: Int64

    /// Certificates are usually renewed a month before their end.
    private static let noticeSeconds: Int64 = 14 * 86_400

    /// Judges the time that is left.
    func outcome(now: Int64) throws(ExaminationError) -> Examination.Outcome {
        let end = Timestamp.text(time * 1_000_000).prefix(10)
        if time <= now {
            throw ExaminationError(
                code: .certificate, message: "The certificate in \(path) ended on \(end)",
                remedy: "Renew it, and restart the worker")
        }
        guard time - now < Self.noticeSeconds else { return .ok("valid until \(end)") }
        return .warning("the certificate in \(path) ends on \(end)", remedy: "Renew it, and restart the worker")
    }
}
