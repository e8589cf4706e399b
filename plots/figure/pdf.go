package figure

import (
	"bytes"
	"fmt"

	"golang.org/x/image/font"
	"golang.org/x/text/encoding/charmap"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgpdf"
)

// PDF renders the figure as one page of its size, with its fonts in it, for a paper.
func (f Figure) PDF() ([]byte, error) {
	canvas := pdfCanvas{vgpdf.New(widthPt, heightPt)}
	f.draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("render %s.pdf: %w", f.Name, err)
	}
	return out.Bytes(), nil
}

// pdfCanvas is a PDF canvas for text in UTF-8 and for bold fonts. That of gonum writes a
// text's bytes as Windows-1252, and does not find a bold font again under its own name.
type pdfCanvas struct{ *vgpdf.Canvas }

// FillString draws text. A character that Windows-1252 lacks becomes a question mark.
func (c pdfCanvas) FillString(face plotfont.Face, at vg.Point, text string) {
	if face.Font.Weight == font.WeightBold {
		face.Font.Weight, face.Font.Variant = font.WeightNormal, face.Font.Variant+"Bold"
	}
	var encoded []byte
	for _, r := range text {
		b, ok := charmap.Windows1252.EncodeRune(r)
		if !ok {
			b = '?'
		}
		encoded = append(encoded, b)
	}
	c.Canvas.FillString(face, at, string(encoded))
}
