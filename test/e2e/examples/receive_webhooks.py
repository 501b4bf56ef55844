"""A receiver of Rolecall's webhooks in Python: pip install standardwebhooks

WEBHOOK_SECRET=whsec_… PORT=3000 python receive_webhooks.py
"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["WEBHOOK_SECRET"])
# Ids that were handled. A delivery may come twice; keep the ids for two days, in your database.
handled = set()
BODY_BYTES_MAX = 4 * 1024 * 1024


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if length > BODY_BYTES_MAX:
            return self.answer(413)
        # The signature is over the bytes as they came: verify first, parse afterwards.
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            result = webhook.verify(body, headers)
        except WebhookVerificationError:
            return self.answer(401)
        # Answer at once and work later: after 15 s an attempt counts as failed.
        self.answer(204)
        if headers["webhook-id"] in handled:
            return None
        handled.add(headers["webhook-id"])
        # A role that is missing here could not be read (see result["errors"]): leave it as it is.
        for role in result["roles"]:
            verb = "grant" if role["granted"] else "revoke"
            print(f"{result['requestId']}: {verb} {role['id']}", flush=True)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()
        self.wfile.flush()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer((os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "3000"))), Receiver)
print(f"listening on port {server.server_port}", flush=True)
server.serve_forever()
