package idem

import "net/url"

// redact takes what may be secret out of a URL: user, password and query.
func redact(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(a URL that cannot be parsed)"
	}
	u.User = nil
	u.RawQuery = ""
	u.Fragment = ""
	return u.String()
}
