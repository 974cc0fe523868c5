package delta

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxPathBytes bounds a path of the log once it is decoded; percent-encoding makes three times as many of it at most.
const maxPathBytes = 4 << 10

// ResolvePath decodes a path of the log once and gives the key below root (a URL). A relative path
// is a key by itself; an absolute one, or a URI, is a key if it lies below root, however its
// scheme's slashes are written, and ErrUnsupported if it is elsewhere. A path that is malformed or
// tries to leave the root wraps ErrCorrupt: "..", NUL, an empty element, a backslash that would
// climb, whether written plainly or percent-encoded. '+' is not a space.
func ResolvePath(root, path string) (key string, err error) {
	key, inside, err := resolvePath(root, path)
	if err == nil && !inside {
		err = fmt.Errorf("%w: the path %s lies outside the table's root: %s", ErrUnsupported, path, outsideAdvice)
	}
	if err != nil {
		return "", err
	}
	return key, nil
}

// outsideAdvice says how files outside a root come to be read.
const outsideAdvice = "such files are read only if whoever opens the table says where they may be (Options.Outside)"

// Locate is as [ResolvePath], but of a file outside the root it gives the one spelling: a URI whose
// path is decoded, "file:///lake/orders/a b.parquet", "s3://bucket/orders/a.parquet". [IsOutside] is
// true of it, and it can never be the key of a file below a root.
func Locate(root, path string) (key string, err error) {
	key, _, err = resolvePath(root, path)
	if err != nil {
		return "", err
	}
	return key, nil
}

// IsOutside tells the spelling of a file outside a table's root from a key below it, which has no
// empty element.
func IsOutside(key string) bool { return strings.Contains(key, "://") }

// OutsidePath is what the log calls a file outside the root whose one spelling is key: a URI,
// percent-encoded.
func OutsidePath(key string) string {
	scheme, rest, _ := strings.Cut(key, "://")
	authority, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + authority + "/" + EncodePath(path)
}

// resolvePath gives a key below root or, with inside false, the one spelling of a file elsewhere.
func resolvePath(root, path string) (key string, inside bool, err error) {
	if err = checkLength(path, 3*maxPathBytes); err != nil {
		return "", false, err
	}
	place, absolute := splitURI(path)
	if !absolute {
		if key, err = decodePath(strings.TrimPrefix(path, "./")); err == nil {
			err = checkBelow(key)
		}
		if err != nil {
			return "", true, pathError(path, err)
		}
		return key, true, checkLength(key, maxPathBytes)
	}
	decoded, err := decodePath(place.path)
	if err == nil {
		err = checkKey(strings.TrimLeft(decoded, "/"))
	}
	if err != nil {
		return "", false, pathError(path, err)
	}
	if err = checkLength(place.authority+decoded, maxPathBytes); err != nil {
		return "", false, err
	}
	place.path = "/" + strings.TrimLeft(decoded, "/")
	home := splitRoot(root)
	if place.scheme == home.scheme && place.authority == home.authority {
		if below, ok := strings.CutPrefix(place.path, home.path); ok {
			return below, true, pathError(path, checkBelow(below))
		}
	}
	return place.scheme + "://" + place.authority + place.path, false, nil
}

// checkLength refuses a path that no store would have a file at.
func checkLength(path string, most int) error {
	if len(path) > most {
		return fmt.Errorf("%w: a path of %d bytes; idem reads at most %d: %.60q…", ErrUnsupported, len(path), most, path)
	}
	return nil
}

func pathError(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: the path %q: %w", ErrCorrupt, path, err)
}

// place is where an absolute path leads.
type place struct{ scheme, authority, path string }

// splitURI takes an absolute path or URI apart; absolute is false for a relative path. A bare
// absolute path is a file.
func splitURI(path string) (p place, absolute bool) {
	if strings.HasPrefix(path, "/") {
		return place{scheme: "file", path: path}, true
	}
	scheme, rest, ok := strings.Cut(path, ":")
	if !ok || !isScheme(scheme) {
		return p, false
	}
	p = place{scheme: canonicalScheme(scheme), path: rest}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		slash := strings.IndexByte(after+"/", '/')
		p.authority, p.path = after[:slash], after[slash:]
	}
	if p.scheme == "file" && strings.EqualFold(p.authority, "localhost") {
		p.authority = ""
	}
	return p, true
}

// splitRoot takes the root apart; its path is decoded and ends in a slash.
func splitRoot(root string) place {
	p, absolute := splitURI(root)
	if !absolute {
		return place{}
	}
	if !strings.HasPrefix(root, "/") { // a URL, not a bare path
		if decoded, err := decodePath(p.path); err == nil {
			p.path = decoded
		}
	}
	p.path = "/" + strings.Trim(p.path, "/")
	if p.path != "/" {
		p.path += "/"
	}
	return p
}

// isScheme is true of a URI scheme by RFC 2396: a letter, then letters, digits, '+', '-', '.'.
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || !(s[i] >= '0' && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.')) {
			return false
		}
	}
	return s != ""
}

// canonicalScheme gives one name to the schemes of one store.
func canonicalScheme(s string) string {
	switch s = strings.ToLower(s); s {
	case "s3a", "s3n":
		return "s3"
	case "abfs":
		return "abfss"
	}
	return s
}

// decodePath undoes percent-encoding, once.
func decodePath(s string) (string, error) {
	if strings.IndexByte(s, '%') < 0 {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) || unhex(s[i+1]) > 15 || unhex(s[i+2]) > 15 {
			return "", fmt.Errorf("'%%' without two hexadecimal digits")
		}
		b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
		i += 2
	}
	return string(b), nil
}

// unhex is the value of a hexadecimal digit, more than 15 for anything else.
func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}

// checkKey refuses a decoded path that does not lead straight to a name.
func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("it names no file")
	case strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("it holds a NUL character")
	case !utf8.ValidString(key):
		return fmt.Errorf("it is not UTF-8")
	}
	for element := range strings.SplitSeq(key, "/") {
		if element == "" || element == "." {
			return fmt.Errorf("it has an empty element")
		}
		for name := range strings.SplitSeq(element, `\`) {
			if name == ".." {
				return fmt.Errorf("it climbs out of a directory by '..'")
			}
		}
	}
	return nil
}

// checkBelow refuses a decoded key that is no plain name, or that file systems with backslashes take for a
// share or a root.
func checkBelow(key string) error {
	if strings.HasPrefix(key, `\`) {
		return fmt.Errorf("it begins with a backslash")
	}
	return checkKey(key)
}

// EncodePath is the inverse for keys that idem makes: a relative URI reference. It encodes what
// RFC 2396 does not allow in a path, and a colon in the first element, which would end a scheme.
func EncodePath(key string) string {
	var b strings.Builder
	first := true
	for i := range len(key) {
		c := key[i]
		if c == '/' {
			first = false
		}
		plain := c > ' ' && c < 0x7f && !strings.ContainsRune("%#?[]\"<>\\^`{|}", rune(c)) && !(first && c == ':')
		writeEncoded(&b, c, plain)
	}
	return b.String()
}

// isUnreserved is true of the characters that RFC 3986 never encodes.
func isUnreserved(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// writeEncoded writes a byte as it is or percent-encoded.
func writeEncoded(b *strings.Builder, c byte, plain bool) {
	if plain {
		b.WriteByte(c)
		return
	}
	const digits = "0123456789ABCDEF"
	b.Write([]byte{'%', digits[c>>4], digits[c&15]})
}
