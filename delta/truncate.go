package delta

import "unicode/utf8"

// Strings in statistics are cut as Spark cuts them, counted in the UTF-16 units of the JVM. The cut minimum is a prefix, so it
// is never above the value; the cut maximum ends in a tie-breaker that puts it above the value in the order of UTF-8 bytes.

const (
	asciiTieBreaker = "\u007F"
	tieBreaker      = utf8.MaxRune
)

// unitsOf is how many UTF-16 units a character takes.
func unitsOf(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// prefixEnd is the byte at which the prefix of so many units ends, one more if that would split a character, and how
// many units it has.
func prefixEnd(s string, units int) (end, has int) {
	for has < units && end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		end += size
		has += unitsOf(r)
	}
	return end, has
}

// truncateMin cuts a minimum to the prefix of so many units.
func truncateMin(s string, units int) string {
	end, _ := prefixEnd(s, units)
	return s[:end]
}

// truncateMax cuts a maximum to the prefix of so many units and a tie-breaker that is greater than what follows. It gives up,
// with ok false, when that takes more than twice the units, and before bytes that are not UTF-8.
func truncateMax(s string, units int) (cut string, ok bool) {
	end, has := prefixEnd(s, units)
	for has <= 2*units {
		if end == len(s) {
			return s, true
		}
		r, size := utf8.DecodeRuneInString(s[end:])
		switch {
		case r == utf8.RuneError && size == 1:
			return "", false
		case r == tieBreaker:
			end += size
			has += 2
		case r < 0x7F:
			return s[:end] + asciiTieBreaker, true
		default:
			return s[:end] + string(tieBreaker), true
		}
	}
	return "", false
}
