package token

import (
	"fmt"

	"github.com/edgemill/edgemill/schema/value"
	"github.com/golang/geo/s2"
	"github.com/twpayne/go-geom"
)

// The cells that cover a geometry: level 5 is some 300 km wide, level 16 some
// 150 m.
const (
	minCellLevel  = 5
	maxCellLevel  = 16
	maxCoverCells = 18
)

func appendCells(dst *Buffer, base int, v value.Value, _ string) error {
	g, err := v.Geometry()
	if err != nil {
		return err
	}
	if g.Stride() != 2 {
		return fmt.Errorf("a geometry of %d coordinates a point is not indexed", g.Stride())
	}
	cover, err := coverOf(g)
	if err != nil {
		return err
	}
	for _, cell := range cover {
		dst.addCell(base, "c/", cell)
		for level := cell.Level(); level >= minCellLevel; level-- {
			dst.addCell(base, "p/", cell.Parent(level))
		}
	}
	return nil
}

func (b *Buffer) addCell(base int, prefix string, cell s2.CellID) {
	b.tokens.data = append(append(b.tokens.data, IDGeo), prefix...)
	b.tokens.data = append(b.tokens.data, cell.ToToken()...)
	b.seal(base)
}

// coverOf gives cells that together cover a geometry.
func coverOf(g geom.T) ([]s2.CellID, error) {
	switch g := g.(type) {
	case *geom.Point:
		cell := s2.CellIDFromLatLng(s2.LatLngFromDegrees(g.Y(), g.X()))
		return []s2.CellID{cell.Parent(maxCellLevel)}, nil
	case *geom.Polygon:
		return coverPolygon(g)
	case *geom.MultiPolygon:
		var cover []s2.CellID
		for i := range g.NumPolygons() {
			cells, err := coverPolygon(g.Polygon(i))
			if err != nil {
				return nil, err
			}
			cover = append(cover, cells...)
		}
		return cover, nil
	}
	return nil, fmt.Errorf("only points, polygons and multipolygons are indexed, not %T", g)
}

// coverPolygon covers the outer ring; holes don't count.
func coverPolygon(p *geom.Polygon) ([]s2.CellID, error) {
	loop, err := loopOf(p.LinearRing(0))
	if err != nil {
		return nil, err
	}
	coverer := s2.RegionCoverer{MinLevel: minCellLevel, MaxLevel: maxCellLevel, MaxCells: maxCoverCells}
	return coverer.Covering(loop), nil
}

// loopOf makes a loop of a closed ring, on whose direction nothing depends: the
// inside is the smaller part of the sphere. Points that repeat the one before
// them are left out, since edges of no length have no direction.
func loopOf(ring *geom.LinearRing) (*s2.Loop, error) {
	var points []s2.Point
	for i := range ring.NumCoords() - 1 {
		c := ring.Coord(i)
		point := s2.PointFromLatLng(s2.LatLngFromDegrees(c.Y(), c.X()))
		if len(points) == 0 || point != points[len(points)-1] {
			points = append(points, point)
		}
	}
	for len(points) > 1 && points[0] == points[len(points)-1] {
		points = points[:len(points)-1]
	}
	if len(points) < 3 {
		return nil, fmt.Errorf("a polygon ring of %d distinct points", len(points))
	}
	loop := s2.LoopFromPoints(points)
	loop.Normalize()
	return loop, nil
}
