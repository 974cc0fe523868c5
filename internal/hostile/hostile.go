// Package hostile lists paths as a log may have them that somebody wrote who means harm, or whose names are odd,
// for the tests of whatever takes a path.
package hostile

import "strings"

// Path is one of them, and what is right.
type Path struct {
	// Why says what the path tries.
	Why string

	// Path stands in the log.
	Path string

	// Key is the one key below the table's root that it may be taken for; "" says that it is refused.
	Key string
}

// Paths are those for a table whose root is a URL that ends in a slash, "s3://bucket/lake/t/" or
// "file:///lake/t/". name is that of a file, which stands beside the root too: "../" and name leads there.
func Paths(root, name string) []Path {
	all := append(climbing(name), absolute(name)...)
	all = append(all, oddNames(name)...)
	return append(all, aroundRoot(root, name)...)
}

// climbing are the ways out of a directory, in every spelling.
func climbing(x string) []Path {
	return []Path{
		{"climbs", "../" + x, ""},
		{"climbs twice", "../../" + x, ""},
		{"climbs as far as there may be", strings.Repeat("../", 40) + x, ""},
		{"climbs from within", "a/../../" + x, ""},
		{"climbs and comes back", "a/../" + x, ""},
		{"climbs at the end", "a/..", ""},
		{"the parent", "..", ""},
		{"the parent as a directory", "../", ""},
		{"a dot first", "./../" + x, ""},
		{"dots within", "a/./../../" + x, ""},
		{"an empty element first", "a//../../" + x, ""},
		{"dots encoded", "%2e%2e/" + x, ""},
		{"dots encoded in capitals", "%2E%2E/" + x, ""},
		{"the second dot encoded", ".%2e/" + x, ""},
		{"the first dot encoded", "%2e./" + x, ""},
		{"the slash encoded", "..%2f" + x, ""},
		{"the slash encoded in capitals", "..%2F" + x, ""},
		{"all encoded", "%2e%2e%2f" + x, ""},
		{"all encoded, from within", "a%2f%2e%2e%2f%2E%2E%2F" + x, ""},
		{"encoded twice is a name", "%252e%252e/" + x, "%2e%2e/" + x},
		{"the slash encoded twice is a name", "..%252f" + x, "..%2f" + x},
		{"all encoded twice is a name", "%252e%252e%252f" + x, "%2e%2e%2f" + x},
		{"encoded three times is a name", "%25252e%25252e/" + x, "%252e%252e/" + x},
		{"half encoded twice is a name", "..%25%32%66" + x, "..%2f" + x},
		{"backslashes", `..\` + x, ""},
		{"backslashes from within", `a\..\..\` + x, ""},
		{"a backslash at the end", `a\..`, ""},
		{"slash and backslash", `a/..\` + x, ""},
		{"backslash and slash", `a\../` + x, ""},
		{"backslashes encoded", "..%5c" + x, ""},
		{"backslashes and dots encoded", "%2e%2e%5C" + x, ""},
		{"backslashes encoded, from within", "a%5c..%5c..%5c" + x, ""},
		{"backslashes encoded twice are a name", "..%255c" + x, "..%5c" + x},
		{"a backslash in a name", `a\` + x, `a\` + x},
		{"an encoded backslash in a name", "a%5c" + x, `a\` + x},
		{"overlong UTF-8 of dots", "%c0%ae%c0%ae/" + x, ""},
		{"overlong UTF-8 of a slash", "..%c0%af" + x, ""},
		{"overlong UTF-8 of three bytes", "%e0%80%ae%e0%80%ae/" + x, ""},
		{"overlong UTF-8 of four bytes", "%f0%80%80%ae%f0%80%80%ae/" + x, ""},
		{"a surrogate", "%ed%a0%80/" + x, ""},
		{"bytes that are no text", "%ff%fe/" + x, ""},
		{"escapes of IIS", "%u002e%u002e/" + x, ""},
		{"escapes of IIS, a slash", "..%u2216" + x, ""},
		{"no escape", "%", ""},
		{"half an escape", "%2", ""},
		{"no hexadecimal digits", "%zz" + x, ""},
		{"an escape in an escape", "%%32%65%%32%65/" + x, ""},
		{"an escape cut short at the end", x + "%2", ""},
		{"NUL at the end", x + "%00", ""},
		{"NUL before a suffix", x + "%00.parquet", ""},
		{"NUL before a climb", "a%00/../" + x, ""},
		{"NUL as it is", "\x00" + x, ""},
		{"NUL alone", "%00", ""},
		{"a climb behind a query", x + "?/../../" + x, ""},
		{"a climb behind a fragment", x + "#/../../" + x, ""},
		{"a climb with a parameter is a name", "..;/" + x, "..;/" + x},
		{"three dots are a name", ".../" + x, ".../" + x},
		{"four dots are a name", "..../" + x, "..../" + x},
		{"dots and a blank are a name", ".. /" + x, ".. /" + x},
		{"a blank and dots are a name", " ../" + x, " ../" + x},
		{"dots before a name", "..a/" + x, "..a/" + x},
		{"longer than is read", strings.Repeat("a", 4097), ""},
		{"longer than is read, climbing", strings.Repeat("../", 1400) + x, ""},
		{"longer than is read, encoded", strings.Repeat("%2e%2e%2f", 500) + x, ""},
	}
}

// absolute are places that have nothing to do with the table.
func absolute(x string) []Path {
	return []Path{
		{"absolute", "/" + x, ""},
		{"a file of the system", "/etc/passwd", ""},
		{"a device", "/dev/zero", ""},
		{"the environment", "/proc/self/environ", ""},
		{"absolute and climbing", "/../" + x, ""},
		{"absolute and climbing, encoded", "/%2e%2e/" + x, ""},
		{"an encoded slash first", "%2f" + x, ""},
		{"an encoded slash first, encoded twice is a name", "%252f" + x, "%2f" + x},
		{"a host", "//host/share/" + x, ""},
		{"many slashes", "////" + x, ""},
		{"a share", `\\host\share\` + x, ""},
		{"a share, encoded", "%5c%5chost%5cshare%5c" + x, ""},
		{"a backslash first", `\` + x, ""},
		{"a long name of Windows", `\\?\C:\` + x, ""},
		{"a device of Windows", `\\.\NUL`, ""},
		{"a drive", `C:\` + x, ""},
		{"a drive with slashes", "C:/" + x, ""},
		{"a drive without a slash", "c:" + x, ""},
		{"a drive alone", "C:", ""},
		{"a drive behind a slash", "/C:/" + x, ""},
		{"an encoded drive is a name", "C%3A/" + x, "C:/" + x},
		{"a stream of NTFS", "a.parquet::$DATA", ""},
		{"a file URL", "file:///" + x, ""},
		{"a file URL with one slash", "file:/" + x, ""},
		{"a file URL with two slashes", "file://" + x, ""},
		{"a file URL with four slashes", "file:////" + x, ""},
		{"a file URL without a slash", "file:" + x, ""},
		{"a file URL in capitals", "FILE:///" + x, ""},
		{"a file URL of this host", "file://localhost/" + x, ""},
		{"a file URL of another host", "file://10.0.0.1/share/" + x, ""},
		{"a file URL that climbs", "file:../" + x, ""},
		{"a file URL that climbs, encoded", "file:///%2e%2e/" + x, ""},
		{"a file URL of a share", `file:\\host\share\` + x, ""},
		{"a file URL of nothing", "file:", ""},
		{"a file URL of a root", "file:///", ""},
		{"another bucket", "s3://other/lake/t/" + x, ""},
		{"a bucket and a climb", "s3://bucket/lake/../" + x, ""},
		{"another store", "gs://bucket/lake/t/" + x, ""},
		{"metadata of the machine", "http://169.254.169.254/latest/meta-data/iam", ""},
		{"a service of this machine", "gopher://127.0.0.1:11211/_stats", ""},
		{"a cluster", "hdfs://nn:8020/" + x, ""},
		{"a container", "abfss://c@account.dfs.core.windows.net/" + x, ""},
		{"inline data", "data:text/plain,x", ""},
		{"an archive", "jar:file:/a.jar!/" + x, ""},
		{"another table in memory", "mem:///" + x, ""},
		{"a scheme alone", "s3:", ""},
		{"a bucket alone", "s3://bucket", ""},
		{"a colon behind what no scheme has is a name", "a b:c/" + x, "a b:c/" + x},
	}
}

// oddNames are names below the root, or none at all.
func oddNames(x string) []Path {
	return []Path{
		{"nothing", "", ""},
		{"the root", ".", ""},
		{"the root as a directory", "./", ""},
		{"a directory", "a/", ""},
		{"an empty element", "a//" + x, ""},
		{"a dot within", "a/./" + x, ""},
		{"two dots of one", "././" + x, ""},
		{"a dot and an empty element", ".//" + x, ""},
		{"a dot first", "./a/" + x, "a/" + x},
		{"a device of Windows is a name elsewhere", "NUL", "NUL"},
		{"a device with a suffix", "con.parquet", "con.parquet"},
		{"a device as a directory", "AUX/" + x, "AUX/" + x},
		{"a dot at the end", "a.", "a."},
		{"dots at the end", "a../" + x, "a../" + x},
		{"a blank at the end", "a%20/" + x, "a /" + x},
		{"full-width dots and slash", "．．／" + x, "．．／" + x},
		{"full-width dots", "．．/" + x, "．．/" + x},
		{"leaders of one dot", "․․/" + x, "․․/" + x},
		{"a leader of two dots", "‥/" + x, "‥/" + x},
		{"a slash of division", "..∕" + x, "..∕" + x},
		{"a slash of fractions", "..⁄" + x, "..⁄" + x},
		{"a full-width backslash", "..＼" + x, "..＼" + x},
		{"dots with nothing seen between them", ".%e2%80%8b./" + x, ".\u200b./" + x},
		{"a byte order mark before dots", "%ef%bb%bf../" + x, "\ufeff../" + x},
		{"text that runs to the left", "a\u202eteuqrap." + x, "a\u202eteuqrap." + x},
		{"é of one character", "\u00e9/" + x, "\u00e9/" + x},
		{"é of two characters", "e\u0301/" + x, "e\u0301/" + x},
		{"a line feed", "a%0ab/" + x, "a\nb/" + x},
		{"a header", "a%0d%0aHost: b/" + x, "a\r\nHost: b/" + x},
		{"an escape of terminals", "%1b[31m" + x, "\x1b[31m" + x},
		{"a delete", "a%7f" + x, "a\x7f" + x},
		{"a control character as it is", "a\x01" + x, "a\x01" + x},
		{"a query", x + "?versionId=1", x + "?versionId=1"},
		{"a fragment", x + "#a", x + "#a"},
		{"a query alone", "?" + x, "?" + x},
		{"an encoded query", x + "%3fa", x + "?a"},
		{"a plus", "a+" + x, "a+" + x},
		{"a wildcard", "*", "*"},
		{"words for a shell", "$(id);`id`|" + x, "$(id);`id`|" + x},
		{"an option", "--" + x, "--" + x},
		{"a home", "~/" + x, "~/" + x},
		{"a variable", "$HOME/%25TEMP%25/" + x, "$HOME/%TEMP%/" + x},
		{"a name longer than file systems have", strings.Repeat("n", 300), strings.Repeat("n", 300)},
		{"very deep", strings.Repeat("a/", 500) + x, strings.Repeat("a/", 500) + x},
	}
}

// aroundRoot are absolute paths that look like the table's own.
func aroundRoot(root, x string) []Path {
	home := strings.TrimSuffix(root, "/")
	scheme, rest, _ := strings.Cut(root, "://")
	authority, path, _ := strings.Cut(rest, "/")
	return []Path{
		{"below the root", root + x, x},
		{"below the root, in capitals", strings.ToUpper(scheme) + "://" + rest + x, x},
		{"below the root, a query", root + x + "?a", x + "?a"},
		{"below the root, encoded", root + "a%20" + x, "a " + x},
		{"the root", root, ""},
		{"the root without its slash", home, ""},
		{"climbs from the root", root + "../" + x, ""},
		{"climbs from the root, encoded", root + "%2e%2e/" + x, ""},
		{"climbs from the root, the slash too", root + "..%2f" + x, ""},
		{"climbs from within the root", root + "a/../../" + x, ""},
		{"climbs by backslashes", root + `..\` + x, ""},
		{"climbs from a name that begins as the root", home + "/../../" + x, ""},
		{"a backslash first", root + `\` + x, ""},
		{"a share behind the root", root + `\\host\share\` + x, ""},
		{"a sibling with the root's name in front", home + "2/" + x, ""},
		{"a sibling with a dash", home + "-evil/" + x, ""},
		{"a sibling by an encoded character", home + "%32/" + x, ""},
		{"an empty element behind the root", root + "/" + x, ""},
		{"a dot behind the root", root + "./" + x, ""},
		{"the path in capitals", scheme + "://" + authority + "/" + strings.ToUpper(path) + "t/" + x, ""},
		{"a user", scheme + "://user:pass@" + authority + "/" + path + x, ""},
		{"the bucket as a user", scheme + "://" + authority + "@evil/" + path + x, ""},
		{"a port", scheme + "://" + authority + ":443/" + path + x, ""},
		{"a longer bucket", scheme + "://" + authority + ".evil/" + path + x, ""},
		{"a backslash in the bucket", scheme + "://" + authority + `\` + path + x, ""},
		{"an encoded slash behind the bucket", scheme + "://" + authority + "%2f" + path + x, ""},
		{"the root behind another scheme", "x" + scheme + "://" + authority + "/" + path + x, ""},
		{"the root behind a slash", "/" + root + x, ""},
		{"NUL behind the root", root + "%00" + x, ""},
	}
}
