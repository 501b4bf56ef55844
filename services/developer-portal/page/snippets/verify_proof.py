import os

import jwt

# https://…/.well-known/jwks.json of the gateway; read when it is needed, and cached.
keys = jwt.PyJWKClient(os.environ["ROLECALL_JWKS_URL"])


def verify_proof(proof: str) -> dict:
    """Verifies a signed verdict and returns its claims. Raises if it was changed, has expired or is for another app.

    Compare `rulesDigest` with the rules that you expect, and tie `accounts` to the session by other means.
    """
    if jwt.get_unverified_header(proof).get("typ") != "rolecall-verdict+jwt":
        raise jwt.InvalidTokenError("not a signed verdict")
    return jwt.decode(
        proof,
        keys.get_signing_key_from_jwt(proof),
        algorithms=["EdDSA", "ES256"],
        audience=os.environ["ROLECALL_CLIENT_ID"],  # app_…
        options={"require": ["exp", "aud"]},
    )
