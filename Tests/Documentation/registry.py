"""A schema registry with one schema, for the page about Avro: registry.py PORT."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

FIELDS = [{"name": name, "type": "string"} for name in ("id", "name")]
SCHEMA = {"type": "record", "name": "Member", "fields": FIELDS}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        is_known = self.path.split("?")[0] == "/schemas/ids/1"
        answer = {"schema": json.dumps(SCHEMA)} if is_known else {"error_code": 40403, "message": "Schema not found"}
        body = json.dumps(answer).encode()
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
