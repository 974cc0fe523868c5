// Package redact takes what may be secret out of text that leaves idem: errors and log records.
//
// URLs carry secrets: a user with a password, the signature of a query, a token in a fragment. They come in
// by the URL that a table is opened with, by errors of stores and of the rows' reader, and by paths in a
// log, which others write. They go out by two doors only, where this package stands: the error that a
// caller gets, and the logger.
//
//  1. Text that holds no URL and no parameter that signs a request is left as it is, byte for byte.
//  2. Redacting twice is redacting once.
//  3. What an error is (errors.Is, errors.As) does not change; what it says does.
package redact

import (
	"errors"
	"regexp"
	"strings"
)

// mark stands for what was taken out.
const mark = "***"

// parameters are those that sign a request or carry a token, as the stores call them.
var parameters = regexp.MustCompile(`(?i)((?:^|[^0-9a-z_-])(?:x-amz-[a-z-]+|x-goog-[a-z-]+|awsaccesskeyid|googleaccessid|signature|sig)=|` +
	`[?&;](?:[a-z_-]*token|[a-z_-]*secret|[a-z_-]*password|passwd|pwd|api_?key|access_?key|credential|code|key)=)` +
	`[^\s&;"'<>` + "`" + `]+`)

// headers are those of a request that say who sends it.
var headers = regexp.MustCompile(`(?i)((?:^|[^0-9a-z_-])(?:proxy-)?(?:authorization|x-[a-z-]*token|x-[a-z-]*api-key)"?\s*[:=]\s*)[^\r\n]+`)

// encoded is a URL that was percent-encoded as a whole.
var encoded = regexp.MustCompile(`(?i)([a-z][0-9a-z+.-]*%3a%2f%2f)[^\s"'<>` + "`" + `]*(?:%40|%3f|%23)[^\s"'<>` + "`" + `]*`)

// Text gives a text in which every URL has lost its user, password, query and fragment, and every parameter
// that signs a request its value. Most texts hold none of it, and are looked through for what each pattern needs only.
func Text(s string) string {
	if !strings.ContainsAny(s, "=:%") {
		return s
	}
	s = urls(s)
	if strings.Contains(s, "%") {
		s = encoded.ReplaceAllString(s, "${1}"+mark)
	}
	if strings.Contains(s, "x-") || strings.Contains(s, "X-") || strings.Contains(strings.ToLower(s), "authorization") {
		s = headers.ReplaceAllString(s, "${1}"+mark)
	}
	if strings.Contains(s, "=") {
		s = parameters.ReplaceAllString(s, "${1}"+mark)
	}
	return s
}

// URL does it for a text that is one URL as a whole, or meant to be one: a blank does not end it.
func URL(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		at := strings.LastIndexByte(s, '@')
		if colon := strings.IndexByte(s, ':'); colon >= 0 && colon < at {
			s = mark + s[at:]
		}
		return Text(s)
	}
	return Text(scheme + "://" + place(scheme, rest, false))
}

// urls goes through the URLs of a text.
func urls(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "://")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		start := i
		for start > 0 && isSchemeByte(s[start-1]) {
			start--
		}
		scheme, rest := s[start:i], s[i+len("://"):]
		end := urlEnd(rest, 0)
		_, secret := authority(scheme, rest[:end])
		if secret && !strings.Contains(rest[:end], "@") {
			if n := secretBeyond(rest[end:]); n > 0 {
				end = urlEnd(rest, end+n)
			}
		}
		b.WriteString(s[:i+len("://")])
		b.WriteString(place(scheme, rest[:end], secret))
		s = rest[end:]
	}
}

func isSchemeByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
}

// urlEnd is where a URL ends that goes on at from at least.
func urlEnd(s string, from int) int {
	if n := strings.IndexFunc(s[from:], endsURL); n >= 0 {
		return from + n
	}
	return len(s)
}

// endsURL is true of what no URL holds in running text.
func endsURL(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("\"'<>`", r)
}

// secretBeyond is the length of what follows a URL that ended in the middle of a password: up to an @ in the
// same line.
func secretBeyond(s string) int {
	line, _, _ := strings.Cut(s, "\n")
	return strings.LastIndexByte(line, '@') + 1
}

// authority is the beginning of a URL behind the scheme, up to its path; secret says that it holds, or begins,
// a password: what follows its colon is no port. A password with a slash in it ends what seems to be the
// authority too soon.
func authority(scheme, rest string) (a string, secret bool) {
	a = rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		a = rest[:i]
	}
	host := address.ReplaceAllString(a, "")
	_, port, found := strings.Cut(host, ":")
	switch {
	case !found:
		return a, false
	case port == "" || buckets[strings.ToLower(scheme)]:
		return a, strings.Contains(rest, "@") || strings.Trim(port, "0123456789") != ""
	}
	return a, strings.Trim(port, "0123456789") != ""
}

// address is one of IPv6, behind a user or at the beginning of an authority. Another bracket may be of a password.
var address = regexp.MustCompile(`^(?:[^:@]*@)?\[[0-9A-Fa-f:.]*(?:%[^\]:@]*)?\]`)

// buckets are the schemes whose authority has no port.
var buckets = map[string]bool{
	"s3": true, "s3a": true, "s3n": true, "gs": true, "gcs": true, "az": true, "azure": true, "abfs": true, "abfss": true, "wasb": true, "wasbs": true,
}

// place redacts what follows the scheme of a URL; known says that a part of it was seen to hold a password.
func place(scheme, rest string, known bool) string {
	a, secret := authority(scheme, rest)
	if secret || known {
		at := strings.LastIndexByte(rest, '@')
		if at < 0 {
			host, _, _ := strings.Cut(a, ":")
			return host + ":" + mark + query(rest[len(a):])
		}
		return mark + "@" + query(rest[at+1:])
	}
	tail := rest[len(a):]
	if at := strings.LastIndexByte(a, '@'); at >= 0 && !container(scheme) {
		a = mark + a[at:]
	}
	return a + query(tail)
}

// container says that what looks like a user without a password is the name of a container, as Azure writes it.
func container(scheme string) bool {
	switch strings.ToLower(scheme) {
	case "abfs", "abfss", "wasb", "wasbs":
		return true
	}
	return false
}

// query marks the query and the fragment of what follows an authority.
func query(tail string) string {
	if i := strings.IndexAny(tail, "?#"); i >= 0 && i+1 < len(tail) {
		return tail[:i+1] + mark
	}
	return tail
}

// Error gives an error that says what err says, redacted. It is err itself if neither it nor an error that
// it wraps says anything secret; else what it wraps is reached by errors.Is and errors.As alone.
func Error(err error) error {
	if err == nil || !secret(err) {
		return err
	}
	return &redacted{text: Text(err.Error()), err: err}
}

// secret looks through an error and all that it wraps.
func secret(err error) bool {
	if _, done := err.(*redacted); done {
		return false
	}
	if text := err.Error(); Text(text) != text {
		return true
	}
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		inner := w.Unwrap()
		return inner != nil && secret(inner)
	case interface{ Unwrap() []error }:
		for _, inner := range w.Unwrap() {
			if inner != nil && secret(inner) {
				return true
			}
		}
	}
	return false
}

type redacted struct {
	text string
	err  error
}

func (r *redacted) Error() string        { return r.text }
func (r *redacted) Is(target error) bool { return errors.Is(r.err, target) }
func (r *redacted) As(target any) bool   { return errors.As(r.err, target) }
