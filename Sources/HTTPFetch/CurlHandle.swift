import CCurl
import Glibc

/// A handle of libcurl, for one request.
final class CurlHandle {
    /// The body as it comes in.
    private struct Body {
        var bytes: [UInt8] = []
        let maximumBytes: Int
        var isTooLong = false

        mutating func take(_ more: UnsafeRawBufferPointer) -> Bool {
            isTooLong = bytes.count + more.count > maximumBytes
            if !isTooLong { bytes.append(contentsOf: more) }
            return !isTooLong
        }
    }

    /// A host that drops packets is given up before a long `timeoutMilliseconds` is over.
    private static let connectMilliseconds = 10_000
    /// libcurl's own state, once for the process. Since 7.84 the call is safe beside other threads, and librdkafka's.
    private static let isStarted = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    private let handle: UnsafeMutableRawPointer
    private let problem = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init?() {
        guard Self.isStarted, let handle = curl_easy_init() else {
            problem.deallocate()
            return nil
        }
        self.handle = handle
    }

    deinit {
        curl_easy_cleanup(handle)
        problem.deallocate()
    }

    func get(
        _ address: String, headers: [String], _ settings: HTTPFetcher.Settings
    ) throws(HTTPFetcher.Failure) -> HTTPFetcher.Answer {
        problem.pointee = 0
        var fields: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(fields) }
        for header in headers {
            guard let longer = curl_slist_append(fields, header) else { throw failure(CURLE_OUT_OF_MEMORY) }
            fields = longer
        }
        try configure(address, settings)
        try demand(curl_set_pointer(handle, CURLOPT_HTTPHEADER, fields))
        var body = Body(maximumBytes: settings.maximumBytes)
        let code = perform(into: &body)
        if body.isTooLong { throw .tooLong }
        guard code == CURLE_OK else { throw failure(code) }
        var status = 0
        try demand(curl_get_number(handle, CURLINFO_RESPONSE_CODE, &status))
        return HTTPFetcher.Answer(status: status, body: body.bytes)
    }

    private func configure(_ address: String, _ settings: HTTPFetcher.Settings) throws(HTTPFetcher.Failure) {
        let numbers = [
            // Without it a time-out raises a signal, which hits any thread.
            (CURLOPT_NOSIGNAL, 1),
            (CURLOPT_FOLLOWLOCATION, 0),
            (CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
            (CURLOPT_TIMEOUT_MS, settings.timeoutMilliseconds),
            (CURLOPT_CONNECTTIMEOUT_MS, min(Self.connectMilliseconds, settings.timeoutMilliseconds)),
        ]
        for (option, value) in numbers { try demand(curl_set_number(handle, option, value)) }
        try demand(curl_set_text(handle, CURLOPT_URL, address))
        try demand(curl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https"))
        // An empty name stands before the proxies of the environment.
        try demand(curl_set_text(handle, CURLOPT_PROXY, ""))
        try demand(curl_set_pointer(handle, CURLOPT_ERRORBUFFER, problem))
        if let file = settings.caFile {
            try demand(curl_set_text(handle, CURLOPT_CAINFO, file))
            // The system's folder of authorities would be trusted beside the file.
            try demand(curl_set_text(handle, CURLOPT_CAPATH, nil))
        }
    }

    private func perform(into body: inout Body) -> CURLcode {
        withUnsafeMutablePointer(to: &body) { body in
            // libcurl ends the request where the receiver returns less than the number of bytes.
            let code = curl_set_receiver(
                handle,
                { bytes, size, count, target in
                    guard let bytes, let body = target?.assumingMemoryBound(to: Body.self) else { return 0 }
                    let more = UnsafeRawBufferPointer(start: bytes, count: size * count)
                    return body.pointee.take(more) ? more.count : 0
                }, body)
            return code == CURLE_OK ? curl_easy_perform(handle) : code
        }
    }

    private func demand(_ code: CURLcode) throws(HTTPFetcher.Failure) {
        guard code == CURLE_OK else { throw failure(code) }
    }

    private func failure(_ code: CURLcode) -> HTTPFetcher.Failure {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: return .late
        case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: return .closed
        case CURLE_COULDNT_CONNECT:
            // libcurl's text has the milliseconds that it took, which would make each report another one.
            var error = 0
            guard curl_get_number(handle, CURLINFO_OS_ERRNO, &error) == CURLE_OK, error != 0 else { break }
            return .unreachable(reason: String(cString: strerror(Int32(error))))
        default: break
        }
        let text = problem.pointee == 0 ? String(cString: curl_easy_strerror(code)) : String(cString: problem)
        return .unreachable(reason: text.split(whereSeparator: \.isNewline).joined(separator: "; "))
    }
}
