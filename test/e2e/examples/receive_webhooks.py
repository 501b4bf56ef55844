"""A receiver of Rolecall's webhooks in Python: pip install standardwebhooks

WEBHOOK_SECRET=whsec_… PORT=3000 python receive_webhooks.py
"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["WEBHOOK_SECRET"])
# Handled ids. A delivery may come twice; keep the ids for two days, in your database.
handled = set()
BODY_BYTES_MAX = 4 * 1024 * 1024


def fold_roles(result):
    """The verdict of each role: True, False, or None where it could not be read.

    Several rules may name one role: it is held if any of them is granted, unknown if none is and any could not be
    read, and otherwise not held. Of a check with onUndetermined "deny", pass its roles and no errors: there an
    unread rule is a denial.
    """
    # A fault of a sign-in has no role.
    held = {error["roleId"]: None for error in result["errors"] if "roleId" in error}
    for role in result["roles"]:
        if role["granted"] or role["id"] not in held:
            held[role["id"]] = role["granted"]
    return held


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if not 0 <= length <= BODY_BYTES_MAX:
            # The body stays unread, so nothing after it can be read either.
            self.close_connection = True
            return self.answer(413)
        # The signature covers the bytes as they arrived: verify first, parse afterwards.
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
        # The result of a check has no type; others, such as batch.completed, have.
        if "type" in result:
            return None
        for role, is_held in fold_roles(result).items():
            # A role that could not be read stays as it is: no chain has said that it is not held.
            if is_held is not None:
                print(f"{result['requestId']}: {'grant' if is_held else 'revoke'} {role}", flush=True)

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
