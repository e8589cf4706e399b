package figure

import (
	"bytes"
	"fmt"
	"image/color"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/text/encoding/charmap"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// PDF renders the figure as one page of its size, with the letters of its font in it, for a
// paper.
func (f Figure) PDF() ([]byte, error) {
	letters, err := subsetFont()
	if err != nil {
		return nil, err
	}
	width, height := f.size()
	canvas := pdfCanvas{vgpdf.New(width, height), letters}
	if _, err := f.draw(canvas, width, height); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("render %s.pdf: %w", f.Name, err)
	}
	return out.Bytes(), nil
}

// pdfCanvas is a PDF canvas for text in UTF-8. That of gonum writes a text's bytes as
// Windows-1252. It also takes one font for all, so that bold text is regular here.
type pdfCanvas struct {
	*vgpdf.Canvas
	letters *opentype.Font
}

// FillString draws text. A character that Windows-1252 lacks becomes a question mark.
func (c pdfCanvas) FillString(face plotfont.Face, at vg.Point, text string) {
	face.Font.Weight, face.Face = font.WeightNormal, c.letters
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

// SetColor sets a colour, which may be see-through. gonum's canvas takes the components
// of RGBA for those of a PDF, which are not multiplied by alpha.
func (c pdfCanvas) SetColor(of color.Color) {
	c.Canvas.SetColor(straight(color.NRGBAModel.Convert(of).(color.NRGBA)))
}

// straight is a colour whose RGBA is not multiplied by alpha.
type straight color.NRGBA

func (s straight) RGBA() (r, g, b, a uint32) {
	return uint32(s.R) * 0x101, uint32(s.G) * 0x101, uint32(s.B) * 0x101, uint32(s.A) * 0x101
}
