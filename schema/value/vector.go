package value

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

func checkVector(data []byte) error {
	if len(data)%4 != 0 {
		return fmt.Errorf("a vector has 4 bytes an element, so not %d", len(data))
	}
	for i := 0; i < len(data); i += 4 {
		if math.IsNaN(float64(elementAt(data, i))) {
			return fmt.Errorf("element %d: %w", i/4, errNaN)
		}
	}
	return nil
}

// elementAt gives the element that begins at byte i.
func elementAt(data []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(data[i:]))
}

// appendParsedVector reads numbers in square brackets, parted by commas or by
// white space.
func appendParsedVector(dst []byte, text string) ([]byte, error) {
	inner := strings.TrimSpace(text)
	if len(inner) < 2 || inner[0] != '[' || inner[len(inner)-1] != ']' {
		return dst, refuse(Vector, text, "not in square brackets")
	}
	out := dst
	for rest := strings.TrimSpace(inner[1 : len(inner)-1]); rest != ""; {
		var element string
		var err error
		element, rest, err = cutElement(rest)
		if err != nil {
			return dst, refuse(Vector, text, err.Error())
		}
		if out, err = appendElement(out, element); err != nil {
			return dst, refuse(Vector, text, err.Error())
		}
	}
	return out, nil
}

// cutElement splits text, which has no space around it, after its first element and the
// comma or space behind that.
func cutElement(text string) (element, rest string, err error) {
	end := strings.IndexAny(text, ", \t\r\n")
	if end < 0 {
		return text, "", nil
	}
	element, rest = text[:end], strings.TrimSpace(text[end:])
	if !strings.HasPrefix(rest, ",") {
		return element, rest, nil
	}
	rest = strings.TrimSpace(rest[1:])
	if rest == "" {
		return "", "", errors.New("nothing follows the last comma")
	}
	return element, rest, nil
}

func appendElement(dst []byte, element string) ([]byte, error) {
	f, err := strconv.ParseFloat(element, 32)
	if err != nil {
		return dst, fmt.Errorf("element %s: %s", shorten(element), numberReason(err))
	}
	if math.IsNaN(f) {
		return dst, errNaN
	}
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(f))), nil
}

func appendVectorText(dst, data []byte) []byte {
	dst = append(dst, '[')
	for i := 0; i < len(data); i += 4 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(elementAt(data, i)), 'G', -1, 32)
	}
	return append(dst, ']')
}
