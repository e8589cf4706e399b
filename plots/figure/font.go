package figure

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/text/encoding/charmap"
	plotfont "gonum.org/v1/plot/font"
)

// subsetFont returns the font of a PDF with the outlines of Windows-1252 alone: 15 kB in place
// of 240. Its name begins with the tag of a subset (ISO 32000-1, 9.6.4).
var subsetFont = sync.OnceValues(func() (*opentype.Font, error) {
	whole := plotfont.DefaultCache.Lookup(sans(screenFont, Ink).Font, screenFont).Face
	var raw bytes.Buffer
	if _, err := whole.WriteSourceTo(nil, &raw); err != nil {
		return nil, fmt.Errorf("read the font: %w", err)
	}
	var keep []sfnt.GlyphIndex
	for b := range 256 {
		glyph, err := whole.GlyphIndex(nil, charmap.Windows1252.DecodeByte(byte(b)))
		if err != nil {
			return nil, fmt.Errorf("find a letter in the font: %w", err)
		}
		keep = append(keep, glyph)
	}
	return opentype.Parse(subset(raw.Bytes(), keep, "KVLABS+LiberationSans"))
})

// subset returns a TrueType font with the outlines of some glyphs alone, under another name.
// Glyphs keep their numbers. The layout of files and tables is that of the OpenType
// specification, 1.9.
func subset(font []byte, keep []sfnt.GlyphIndex, name string) []byte {
	u16 := binary.BigEndian.Uint16
	u32 := func(b []byte) int { return int(binary.BigEndian.Uint32(b)) }
	tables := map[string][]byte{}
	for i := range int(u16(font[4:])) {
		entry := font[12+16*i:]
		tables[string(entry[:4])] = font[u32(entry[8:]) : u32(entry[8:])+u32(entry[12:])]
	}
	long := u16(tables["head"][50:]) == 1
	place := func(glyph int) int {
		if long {
			return u32(tables["loca"][4*glyph:])
		}
		return 2 * int(u16(tables["loca"][2*glyph:]))
	}
	outline := func(glyph int) []byte { return tables["glyf"][place(glyph):place(glyph+1)] }
	kept := map[int]bool{0: true} // of a character that the font lacks
	var visit func(glyph int)
	visit = func(glyph int) {
		kept[glyph] = true
		for _, part := range parts(outline(glyph)) {
			visit(part)
		}
	}
	for _, glyph := range keep {
		visit(int(glyph))
	}
	var glyf, loca []byte
	for glyph := range int(u16(tables["maxp"][4:])) {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		if kept[glyph] {
			glyf = append(glyf, outline(glyph)...)
			glyf = append(glyf, make([]byte, -len(glyf)&3)...)
		}
	}
	loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
	head := slices.Clone(tables["head"])
	binary.BigEndian.PutUint16(head[50:], 1) // loca is long
	binary.BigEndian.PutUint32(head[8:], 0)  // the sum of the file, which assembled sets
	post := slices.Clone(tables["post"][:32])
	binary.BigEndian.PutUint32(post, 0x30000) // no names of glyphs
	names := []byte{0, 0, 0, 1, 0, 18, 0, 1, 0, 0, 0, 0, 0, 6, 0, byte(len(name)), 0, 0}
	return assembled(map[string][]byte{
		"head": head, "glyf": glyf, "loca": loca, "post": post, "name": append(names, name...),
		"cmap": tables["cmap"], "cvt ": tables["cvt "], "fpgm": tables["fpgm"], "prep": tables["prep"],
		"hhea": tables["hhea"], "hmtx": tables["hmtx"], "maxp": tables["maxp"], "OS/2": tables["OS/2"],
	})
}

// parts returns the glyphs that an outline is composed of.
func parts(outline []byte) (all []int) {
	const words, more = 1, 1 << 5
	if len(outline) < 10 || int16(binary.BigEndian.Uint16(outline)) >= 0 {
		return nil
	}
	for flags, at := uint16(more), 10; flags&more != 0; {
		flags = binary.BigEndian.Uint16(outline[at:])
		all = append(all, int(binary.BigEndian.Uint16(outline[at+2:])))
		at += 6
		if flags&words != 0 {
			at += 2
		}
		for bit, size := range map[uint16]int{1 << 3: 2, 1 << 6: 4, 1 << 7: 8} { // scales
			if flags&bit != 0 {
				at += size
			}
		}
	}
	return all
}

// assembled returns a font file of tables.
func assembled(tables map[string][]byte) []byte {
	var tags []string
	for tag, table := range tables {
		if len(table) > 0 {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	const search = 128 // the largest power of two times 16 that is not above 16 times 8 to 15 tables
	out := []byte{0, 1, 0, 0}
	for _, v := range []int{len(tags), search, 3, 16*len(tags) - search} {
		out = binary.BigEndian.AppendUint16(out, uint16(v))
	}
	var body []byte
	for _, tag := range tags {
		out = append(out, tag...)
		at, size := 12+16*len(tags)+len(body), len(tables[tag])
		body = append(body, tables[tag]...)
		body = append(body, make([]byte, -size&3)...)
		for _, v := range []uint32{sumOf(body[len(body)-(size+3)&^3:]), uint32(at), uint32(size)} {
			out = binary.BigEndian.AppendUint32(out, v)
		}
	}
	out = append(out, body...)
	at := bytes.Index(out, tables["head"]) + 8
	binary.BigEndian.PutUint32(out[at:], 0xB1B0AFBA-sumOf(out))
	return out
}

// sumOf returns the check sum of a table or a file, whose length is a multiple of four.
func sumOf(table []byte) (sum uint32) {
	for i := 0; i < len(table); i += 4 {
		sum += binary.BigEndian.Uint32(table[i:])
	}
	return sum
}
