package value

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/twpayne/go-geom"
	"github.com/twpayne/go-geom/encoding/geojson"
	"github.com/twpayne/go-geom/encoding/wkb"
)

const (
	// maxGeoDepth is how deep geometry collections may nest.
	maxGeoDepth = 32
	// maxJSONDepth is how deep brackets may nest in GeoJSON text: two for each
	// collection, and those of a multipolygon. The parser reads a nested
	// collection's text once for each level around it.
	maxJSONDepth = 2*maxGeoDepth + 8
)

// Geometry gives the geometry of a value of type Geo, newly made.
func (v Value) Geometry() (geom.T, error) {
	if err := v.expect(Geo); err != nil {
		return nil, err
	}
	return decodeGeo(v.Data)
}

// decodeGeo reads WKB. checkWKB runs first, so that counts which promise more
// than there is, or endless nesting, never reach the decoder.
func decodeGeo(data []byte) (geom.T, error) {
	if err := checkWKB(data); err != nil {
		return nil, err
	}
	return wkb.Unmarshal(data)
}

func appendParsedGeo(dst []byte, text string) ([]byte, error) {
	data, err := wkbOfJSON(text)
	if err == nil {
		err = checkWKB(data)
	}
	if err != nil {
		return dst, refuse(Geo, text, err.Error())
	}
	return append(dst, data...), nil
}

// wkbOfJSON turns GeoJSON into WKB. The library panics on some coordinates of
// uneven lengths; that is an error here.
func wkbOfJSON(text string) (data []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			data, err = nil, fmt.Errorf("invalid GeoJSON: %v", r)
		}
	}()
	if bracketDepth(text) > maxJSONDepth {
		return nil, errors.New("nested too deep")
	}
	var g geom.T
	if err := geojson.Unmarshal([]byte(strings.ReplaceAll(text, "'", `"`)), &g); err != nil {
		return nil, fmt.Errorf("invalid GeoJSON: %w", err)
	}
	return wkb.Marshal(g, wkb.NDR)
}

// bracketDepth gives how deep brackets nest in text; brackets in strings count
// too, which GeoJSON hardly has.
func bracketDepth(text string) int {
	depth, deepest := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return deepest
}

func appendGeoText(dst, data []byte) ([]byte, error) {
	g, err := decodeGeo(data)
	if err != nil {
		return dst, err
	}
	text, err := geojson.Marshal(g)
	if err != nil {
		return dst, err
	}
	return append(dst, bytes.ReplaceAll(text, []byte(`"`), []byte("'"))...), nil
}

// The kinds of geometry in WKB; a thousand times 0 to 3 is added for the
// layouts XY, XYZ, XYM and XYZM.
const (
	wkbPoint uint32 = iota + 1
	wkbLine
	wkbPolygon
	wkbMultiPoint
	wkbMultiLine
	wkbMultiPolygon
	wkbCollection
)

// checkWKB says whether data is one well-formed geometry in little-endian WKB:
// all coordinates finite, and every polygon ring closed.
func checkWKB(data []byte) error {
	w := wkbWalk{rest: data}
	if err := w.geometry(0, 0); err != nil {
		return err
	}
	if len(w.rest) > 0 {
		return fmt.Errorf("%d bytes behind the geometry", len(w.rest))
	}
	return nil
}

// wkbWalk goes over WKB without making anything of it.
type wkbWalk struct {
	rest []byte
}

var errShortWKB = errors.New("the geometry is cut short")

// geometry takes one geometry of the wanted type, or of any where want is 0.
func (w *wkbWalk) geometry(want uint32, depth int) error {
	if len(w.rest) < 5 {
		return errShortWKB
	}
	if w.rest[0] != 1 {
		return errors.New("the geometry is not little-endian")
	}
	typ := binary.LittleEndian.Uint32(w.rest[1:])
	w.rest = w.rest[5:]
	if want != 0 && typ != want {
		return fmt.Errorf("a geometry of type %d within one of type %d", typ, want)
	}
	kind, layout := typ%1000, typ/1000
	if kind < wkbPoint || kind > wkbCollection || layout > 3 {
		return fmt.Errorf("unknown type of geometry %d", typ)
	}
	stride := [...]int{2, 3, 3, 4}[layout]
	switch kind {
	case wkbPoint:
		_, err := w.points(1, stride)
		return err
	case wkbLine:
		_, err := w.countedPoints(stride)
		return err
	case wkbPolygon:
		return w.polygon(stride)
	case wkbCollection:
		return w.parts(0, depth)
	}
	return w.parts(typ-(wkbMultiPoint-wkbPoint), depth)
}

// parts takes the geometries within a geometry.
func (w *wkbWalk) parts(want uint32, depth int) error {
	if depth >= maxGeoDepth {
		return errors.New("nested too deep")
	}
	n, err := w.count()
	if err != nil {
		return err
	}
	for range n {
		if err := w.geometry(want, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *wkbWalk) polygon(stride int) error {
	rings, err := w.count()
	if err != nil {
		return err
	}
	if rings == 0 {
		return errors.New("a polygon without a ring")
	}
	for range rings {
		ring, err := w.countedPoints(stride)
		if err != nil {
			return err
		}
		if err := checkRing(ring, stride*8); err != nil {
			return err
		}
	}
	return nil
}

// checkRing says whether a ring, whose points have size bytes each, is closed.
func checkRing(ring []byte, size int) error {
	if len(ring) < 4*size {
		return errors.New("a polygon ring of fewer than four points")
	}
	last := ring[len(ring)-size:]
	for i := 0; i < 16; i += 8 {
		if coordinate(ring[i:]) != coordinate(last[i:]) {
			return errors.New("a polygon ring that is not closed: its last point is not its first")
		}
	}
	return nil
}

func coordinate(b []byte) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

func (w *wkbWalk) count() (int, error) {
	if len(w.rest) < 4 {
		return 0, errShortWKB
	}
	n := binary.LittleEndian.Uint32(w.rest)
	w.rest = w.rest[4:]
	return int(n), nil
}

func (w *wkbWalk) countedPoints(stride int) ([]byte, error) {
	n, err := w.count()
	if err != nil {
		return nil, err
	}
	return w.points(n, stride)
}

// points takes n points and gives their bytes.
func (w *wkbWalk) points(n, stride int) ([]byte, error) {
	size := stride * 8
	if n > len(w.rest)/size {
		return nil, errShortWKB
	}
	taken := w.rest[:n*size]
	w.rest = w.rest[n*size:]
	for i := 0; i < len(taken); i += 8 {
		if f := coordinate(taken[i:]); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("a coordinate is %v", f)
		}
	}
	return taken, nil
}
