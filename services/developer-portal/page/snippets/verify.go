package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

// Verify checks signature and age of a message by Standard Webhooks. The secret is "whsec_…", body the raw body
// of the request, header gives its headers: pass request.Header.Get. Parse the body only when this returns nil.
func Verify(secret string, body []byte, header func(name string) string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return errors.New("not a webhook secret")
	}
	id, sent := header("webhook-id"), header("webhook-timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || id == "" {
		return errors.New("not a webhook")
	}
	if age := time.Since(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return errors.New("too old, or from the future")
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + sent + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	// One signature per secret that is live: during a rotation there are several.
	for _, signature := range strings.Fields(header("webhook-signature")) {
		given, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1,"))
		if err == nil && hmac.Equal(given, expected) {
			return nil
		}
	}
	return errors.New("no signature matches")
}
