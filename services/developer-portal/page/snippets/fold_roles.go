package webhook

// Result holds the members of a check's result that are about roles.
type Result struct {
	Roles []struct {
		ID      string `json:"id"`
		Granted bool   `json:"granted"`
	} `json:"roles"`
	Errors []struct {
		RoleID string `json:"roleId"`
	} `json:"errors"`
}

// Outcome of a role. Unknown could not be read, which is not a "no": leave such a role as it is.
type Outcome string

const (
	Held    Outcome = "held"
	NotHeld Outcome = "not held"
	Unknown Outcome = "unknown"
)

// FoldRoles returns the verdict on each role. Several rules may name one: it is held if any of them is granted,
// unknown if none is and any could not be read, and otherwise not held. Of a check with onUndetermined "deny",
// leave Errors empty: there a rule that could not be read is a denial.
func FoldRoles(result Result) map[string]Outcome {
	roles := map[string]Outcome{}
	for _, unread := range result.Errors {
		// An error about a sign-in names a wallet and no role.
		if unread.RoleID != "" {
			roles[unread.RoleID] = Unknown
		}
	}
	for _, role := range result.Roles {
		if role.Granted {
			roles[role.ID] = Held
		} else if _, isKnown := roles[role.ID]; !isKnown {
			roles[role.ID] = NotHeld
		}
	}
	return roles
}
