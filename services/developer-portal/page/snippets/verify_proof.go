package proof

import (
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Claims of a signed verdict. Compare RulesDigest with the rules that you expect, and tie Accounts to the session by
// other means.
type Claims struct {
	jwt.Claims
	Accounts     []string `json:"accounts"`
	Granted      []string `json:"granted"`
	Denied       []string `json:"denied"`
	Undetermined []string `json:"undetermined"`
	RulesDigest  string   `json:"rulesDigest"`
}

// Verify returns the claims of a signed verdict. keys is the document at /.well-known/jwks.json of the gateway: read it
// every five minutes. audience is the client id of the app, app_….
func Verify(proof string, keys jose.JSONWebKeySet, audience string) (Claims, error) {
	var claims Claims
	token, err := jwt.ParseSigned(proof, []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256})
	if err != nil {
		return claims, err
	}
	header := token.Headers[0]
	if header.ExtraHeaders[jose.HeaderType] != "rolecall-verdict+jwt" {
		return claims, errors.New("not a signed verdict")
	}
	found := keys.Key(header.KeyID)
	if len(found) != 1 {
		return claims, errors.New("no such key")
	}
	if err := token.Claims(found[0].Key, &claims); err != nil {
		return claims, err
	}
	if claims.Expiry == nil {
		return claims, errors.New("never expires")
	}
	return claims, claims.ValidateWithLeeway(jwt.Expected{AnyAudience: jwt.Audience{audience}, Time: time.Now()}, 5*time.Second)
}
