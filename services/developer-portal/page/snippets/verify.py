import os

from standardwebhooks import Webhook

webhook = Webhook(os.environ["WEBHOOK_SECRET"])  # whsec_…


def verify(body: bytes, headers: dict[str, str]) -> dict:
    """Checks signature and age, then parses. Raises if the message is not Rolecall's.

    `body` is the raw body of the request, `headers` its headers in lower case.
    """
    return webhook.verify(body, headers)


# In Flask:
# @app.post("/hooks")
# def hook():
#     result = verify(request.get_data(), {name.lower(): value for name, value in request.headers})
#     return "", 204
