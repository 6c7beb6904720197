import Foundation
import ObjectGraph
import Testing

@testable import IngestCore
@testable import Operations

@Suite struct ExaminationTests {
    @Test func `an error becomes a finding with its remedy and code`() {
        let finding = Examination("store") {
            throw StoreError(.full, "The disk is full", remedy: "Free space")
        }.run()
        #expect(finding.state == .failed)
        #expect(finding.text == "store          failed  The disk is full. Free space")
        #expect(
            finding.json == #"{"name":"store","state":"failed","message":"The disk is full","remedy":"Free space","#
                + #""code":"store.full"}"#)
    }

    @Test func `each outcome has its line`() {
        #expect(Examination("a") { .ok("b") }.run().text == "a              ok  b")
        #expect(Examination("a") { .warning("b", remedy: "C") }.run().text == "a              warning  b. C")
        #expect(Examination("a") { .skipped("not asked") }.run().text == "a              not asked")
        #expect(Examination("a") { .ok("b") }.run().error == nil)
    }

    // MARK: The machine

    private static let mounts = """
        22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
        30 22 0:40 / /data rw,relatime shared:2 master:1 - nfs4 server:/export rw,vers=4.2
        31 30 8:2 / /data/local rw - xfs /dev/sdb1 rw
        32 22 0:41 / /my\\040share rw - cifs //server/share rw
        33 31 0:42 / /data/local rw - tmpfs none rw
        broken line
        """

    @Test(arguments: [
        ("/", "ext4"), ("/var/lib", "ext4"), ("/data", "nfs4"), ("/data/stores", "nfs4"), ("/database", "ext4"),
        ("/data/local/a", "tmpfs"), ("/my share/b", "cifs"),
    ])
    func `the file system of a folder is that of the nearest mount`(_ folder: String, _ system: String) {
        #expect(MountTable(Self.mounts).fileSystem(of: folder) == system)
        #expect(MountTable("").fileSystem(of: folder) == nil)
    }

    private static func room(free: Int, files: Int = 10_000, store: Int = 0) throws -> Examination.Outcome {
        try DiskRoom(folder: "/d", freeBytes: free, freeFiles: files, hasFileLimit: true, storeBytes: store).outcome
    }

    @Test func `a disk needs room for the log, and for a copy of the store`() throws {
        guard case .ok(let facts) = try Self.room(free: 1 << 30, store: 100 << 20) else {
            Issue.record("a disk with room is refused")
            return
        }
        #expect(facts == "1024 MiB are free at /d")
        guard case .warning(let missing, _) = try Self.room(free: 1 << 30, store: 600 << 20) else {
            Issue.record("a disk without room for a copy is accepted")
            return
        }
        #expect(missing == "1024 MiB are free at /d, and the store has 600 MiB")
        guard case .warning(let small, _) = try Self.room(free: 210 << 20) else {
            Issue.record("a disk that takes writes is refused")
            return
        }
        #expect(small == "210 MiB are free at /d, and the write-ahead log may take 256 MiB")
        #expect(throws: ExaminationError.self) { try Self.room(free: 10 << 20) }
        #expect(throws: ExaminationError.self) { try Self.room(free: 1 << 40, files: 3) }
        // A file system that counts no files has room for them.
        let uncounted = DiskRoom(folder: "/d", freeBytes: 1 << 40, freeFiles: 0, hasFileLimit: false, storeBytes: 0)
        #expect(throws: Never.self) { try uncounted.outcome }
    }

    @Test func `a certificate is told of before its end`() throws {
        let end = CertificateEnd(path: "c.pem", time: 1_800_000_000)
        guard case .ok = try end.outcome(now: 1_790_000_000) else {
            Issue.record("a valid certificate is not accepted")
            return
        }
        guard case .warning(let facts, _) = try end.outcome(now: 1_799_900_000) else {
            Issue.record("nobody is told of the end")
            return
        }
        #expect(facts == "the certificate in c.pem ends on 2027-01-15")
        let error = #expect(throws: ExaminationError.self) { try end.outcome(now: 1_800_000_000) }
        #expect(error?.code == .certificate)
    }

    @Test func `the limit of open files is read as the kernel writes it`() {
        let limits = """
            Limit                     Soft Limit           Hard Limit           Units
            Max processes             63203                63203                processes
            Max open files            1024                 1048576              files
            """
        #expect(Examiner.openFiles(limits: limits) == 1024)
        #expect(Examiner.openFiles(limits: limits.replacing("1024  ", with: "unlimited  ")) == .max)
        #expect(Examiner.openFiles(limits: "") == nil)
    }

    @Test(arguments: ["Kafka", "PostgreSQL"], ["empty", "cut", "damaged"])
    func `a certificate file without a certificate is refused`(_ server: String, _ state: String) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString).pem")
        let texts = ["cut": String(Self.certificates.dropLast(30)), "damaged": Self.damagedCertificate]
        try (texts[state] ?? "no certificate").write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        var configuration = WorkerConfiguration()
        if server == "Kafka" {
            configuration.kafka.properties["ssl.ca.location"] = file.path
        } else {
            configuration.store.url = "postgres://db/a?sslmode=verify-full&sslrootcert=\(file.path)"
        }
        let examiner = Examiner(configuration, isOffline: true, logger: .silent)
        let finding = Examination("certificates", examiner.examineCertificates).run()
        #expect(finding.state == .failed)
        #expect(finding.message == "\(file.path) has no certificate that can be read")
    }

    /// A certificate whose sequence is longer than its bytes.
    private static let damagedCertificate = """
        -----BEGIN CERTIFICATE-----
        MIHDMHegAwIBAgIBATAFBgMrZXAwDDEKMAgGA1UEAwwBdDAeFw0xOTAxMDEwMDAw
        -----END CERTIFICATE-----

        """

    /// A certificate that ended in 2020, and one that ends in 2090.
    private static let certificates = """
        -----BEGIN CERTIFICATE-----
        MIHDMHegAwIBAgIBATAFBgMrZXAwDDEKMAgGA1UEAwwBdDAeFw0xOTAxMDEwMDAw
        MDBaFw0yMDAxMDEwMDAwMDBaMAwxCjAIBgNVBAMMAXQwKjAFBgMrZXADIQC2MMKu
        BX+d/dqOL+tuu8gGYuYb3B06WLzGCKsoBlafxjAFBgMrZXADQQAoFB72ZTOP8lri
        q76mekbqffp8VHWeP9ltIL9elnjzdWqS2d1kHInOh0Wx7rLt9TCPlqKVsuzy//Pz
        ajzFiN8D
        -----END CERTIFICATE-----
        -----BEGIN CERTIFICATE-----
        MIHFMHmgAwIBAgIBATAFBgMrZXAwDDEKMAgGA1UEAwwBdDAgFw0xOTAxMDEwMDAw
        MDBaGA8yMDkwMDEwMTAwMDAwMFowDDEKMAgGA1UEAwwBdDAqMAUGAytlcAMhALYw
        wq4Ff5392o4v6267yAZi5hvcHTpYvMYIqygGVp/GMAUGAytlcANBAPUOhilIWbi5
        ikVrUmzaJQ0jSkToUuClAwco9TXBQ9iGyB4gvLlC01j2l1g111yMZxYZVzDPUT3Q
        lqrcurIutQA=
        -----END CERTIFICATE-----

        """

    @Test(arguments: [
        ("ssl.certificate.location", "failed"), ("sslcert", "failed"), ("ssl.ca.location", "ok"),
        ("sslrootcert", "ok"),
    ])
    func `a client's certificate is the first of its file, and one that is valid is enough for authorities`(
        _ setting: String, _ state: String
    ) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "certificates-\(UUID().uuidString).pem")
        try Self.certificates.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        var configuration = WorkerConfiguration()
        if setting.contains(".") {
            configuration.kafka.properties[setting] = file.path
        } else {
            configuration.store.url = "postgres://db/a?sslmode=verify-full&\(setting)=\(file.path)"
        }
        let examiner = Examiner(configuration, isOffline: true, logger: .silent)
        let finding = Examination("certificates", examiner.examineCertificates).run()
        #expect(finding.state.rawValue == state, "\(finding.message)")
    }

    @Test func `a folder of authorities is no file of certificates`() {
        var configuration = WorkerConfiguration()
        configuration.kafka.properties["ssl.ca.location"] = FileManager.default.temporaryDirectory.path
        let examiner = Examiner(configuration, isOffline: true, logger: .silent)
        #expect(Examination("certificates", examiner.examineCertificates).run().state == .skipped)
    }

    @Test func `a store behind symbolic links is examined where it is`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "links-\(UUID().uuidString)")
        let (disk, link) = (folder.appending(path: "disk"), folder.appending(path: "link"))
        try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: disk)
        #expect(Examiner.folder(of: link.appending(path: "none/store.sqlite").path) == disk.path)
        let store = disk.appending(path: "store.sqlite")
        try Data(count: 5000).write(to: store)
        let alias = folder.appending(path: "alias.sqlite")
        try FileManager.default.createSymbolicLink(at: alias, withDestinationURL: store)
        #expect(DiskRoom(ofStore: alias.path)?.storeBytes == 5000)
        var configuration = WorkerConfiguration()
        configuration.store.path = alias.path
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: disk.path)
        let examiner = Examiner(configuration, isOffline: true, logger: .silent)
        #expect(Examination("permissions", examiner.examinePermissions).run().state == .warning)
    }

    @Test func `a folder that everybody may write is found`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "folder-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = WorkerConfiguration()
        configuration.store.path = folder.appending(path: "none/store.sqlite").path
        let examiner = Examiner(configuration, isOffline: true, logger: .silent)
        func state() -> Finding.State { Examination("permissions", examiner.examinePermissions).run().state }
        #expect(state() == .ok)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        #expect(state() == .warning)
        try FileManager.default.setAttributes([.posixPermissions: 0o1777], ofItemAtPath: folder.path)
        #expect(state() == .ok)
        #expect(Examination("limits", examiner.examineLimits).run().state != .failed)
    }
}
