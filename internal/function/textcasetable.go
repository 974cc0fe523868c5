package function

import (
	"maps"
	"unicode"
)

// upperOf are the characters whose upper case is several, but for those from U+1F80 to U+1FAF.
var upperOf = map[rune]string{
	0x00DF: "SS", 0x0149: "\u02BCN", 0x01F0: "J\u030C", 0x0390: "\u0399\u0308\u0301", 0x03B0: "\u03A5\u0308\u0301",
	0x0587: "\u0535\u0552", 0x1E96: "H\u0331", 0x1E97: "T\u0308", 0x1E98: "W\u030A", 0x1E99: "Y\u030A",
	0x1E9A: "A\u02BE", 0x1F50: "\u03A5\u0313", 0x1F52: "\u03A5\u0313\u0300", 0x1F54: "\u03A5\u0313\u0301",
	0x1F56: "\u03A5\u0313\u0342", 0x1FB2: "\u1FBA\u0399", 0x1FB3: "\u0391\u0399", 0x1FB4: "\u0386\u0399",
	0x1FB6: "\u0391\u0342", 0x1FB7: "\u0391\u0342\u0399", 0x1FBC: "\u0391\u0399", 0x1FC2: "\u1FCA\u0399",
	0x1FC3: "\u0397\u0399", 0x1FC4: "\u0389\u0399", 0x1FC6: "\u0397\u0342", 0x1FC7: "\u0397\u0342\u0399",
	0x1FCC: "\u0397\u0399", 0x1FD2: "\u0399\u0308\u0300", 0x1FD3: "\u0399\u0308\u0301", 0x1FD6: "\u0399\u0342",
	0x1FD7: "\u0399\u0308\u0342", 0x1FE2: "\u03A5\u0308\u0300", 0x1FE3: "\u03A5\u0308\u0301", 0x1FE4: "\u03A1\u0313",
	0x1FE6: "\u03A5\u0342", 0x1FE7: "\u03A5\u0308\u0342", 0x1FF2: "\u1FFA\u0399", 0x1FF3: "\u03A9\u0399",
	0x1FF4: "\u038F\u0399", 0x1FF6: "\u03A9\u0342", 0x1FF7: "\u03A9\u0342\u0399", 0x1FFC: "\u03A9\u0399", 0xFB00: "FF",
	0xFB01: "FI", 0xFB02: "FL", 0xFB03: "FFI", 0xFB04: "FFL", 0xFB05: "ST", 0xFB06: "ST", 0xFB13: "\u0544\u0546",
	0xFB14: "\u0544\u0535", 0xFB15: "\u0544\u053B", 0xFB16: "\u054E\u0546", 0xFB17: "\u0544\u053D",
}

// titleOf are the characters whose title case is several that are not the upper case.
var titleOf = map[rune]string{
	0x00DF: "Ss", 0x0587: "\u0535\u0582", 0x1FB2: "\u1FBA\u0345", 0x1FB4: "\u0386\u0345", 0x1FB7: "\u0391\u0342\u0345",
	0x1FC2: "\u1FCA\u0345", 0x1FC4: "\u0389\u0345", 0x1FC7: "\u0397\u0342\u0345", 0x1FF2: "\u1FFA\u0345",
	0x1FF4: "\u038F\u0345", 0x1FF7: "\u03A9\u0342\u0345", 0xFB00: "Ff", 0xFB01: "Fi", 0xFB02: "Fl", 0xFB03: "Ffi",
	0xFB04: "Ffl", 0xFB05: "St", 0xFB06: "St", 0xFB13: "\u0544\u0576", 0xFB14: "\u0544\u0565", 0xFB15: "\u0544\u056B",
	0xFB16: "\u054E\u0576", 0xFB17: "\u0544\u056D",
}

// laterLower and laterUpper are the pairs of letters that came with Unicode 16.
var (
	laterLower = later()
	laterUpper = inverse(laterLower)
)

func later() map[rune]rune {
	pairs := map[rune]rune{0x1C89: 0x1C8A, 0xA7CB: 0x0264, 0xA7CC: 0xA7CD, 0xA7DA: 0xA7DB, 0xA7DC: 0x019B}
	for r := rune(0x10D50); r <= 0x10D65; r++ {
		pairs[r] = r + 0x20
	}
	return pairs
}

func inverse(pairs map[rune]rune) map[rune]rune {
	back := map[rune]rune{}
	for from, to := range maps.All(pairs) {
		back[to] = from
	}
	return back
}

// laterIgnorable are the marks that came with Unicode 16.
var laterIgnorable = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x0897, Hi: 0x0897, Stride: 1}},
	R32: []unicode.Range32{
		{Lo: 0x10D4E, Hi: 0x10D4E, Stride: 1}, {Lo: 0x10D69, Hi: 0x10D6D, Stride: 1}, {Lo: 0x10D6F, Hi: 0x10D6F, Stride: 1},
		{Lo: 0x10EFC, Hi: 0x10EFC, Stride: 1}, {Lo: 0x113BB, Hi: 0x113C0, Stride: 1}, {Lo: 0x113CE, Hi: 0x113CE, Stride: 1},
		{Lo: 0x113D0, Hi: 0x113D2, Stride: 2}, {Lo: 0x113E1, Hi: 0x113E2, Stride: 1}, {Lo: 0x11F5A, Hi: 0x11F5A, Stride: 1},
		{Lo: 0x1611E, Hi: 0x16129, Stride: 1}, {Lo: 0x1612D, Hi: 0x1612F, Stride: 1}, {Lo: 0x16D40, Hi: 0x16D42, Stride: 1},
		{Lo: 0x16D6B, Hi: 0x16D6C, Stride: 1}, {Lo: 0x1E5EE, Hi: 0x1E5EF, Stride: 1},
	},
}
