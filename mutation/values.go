package mutation

// valueCache keeps the tokens of the values that a part has seen, so that a
// distinct value is tokenized once. Where values hardly repeat it gives up.
type valueCache struct {
	values keyTable
	// ids are the token numbers of each value in turn.
	ids  []uint32
	ends []uint32
	hits int
	off  bool
}

const (
	// cacheTrial is how many values are kept before it is judged whether they
	// repeat, and cacheMost the number at which no more are taken.
	cacheTrial = 512
	cacheMost  = 1 << 16
	// cachedLen is the size of the longest value that is kept.
	cachedLen = 256
)

func (c *valueCache) reset() {
	c.values.reset()
	c.ids, c.ends, c.hits, c.off = c.ids[:0], c.ends[:0], 0, false
}

func (c *valueCache) at(n uint32) []uint32 {
	from := uint32(0)
	if n > 0 {
		from = c.ends[n-1]
	}
	return c.ids[from:c.ends[n]]
}

// tokenIDs returns the numbers of a value's tokens in the part's index table.
// They are good until the next call.
func (w *worker) tokenIDs(stored []byte, lang string) ([]uint32, error) {
	c := &w.pt.values
	if c.off || len(stored)+len(lang) > cachedLen {
		var err error
		w.ids, err = w.tokenize(w.ids[:0], stored, lang)
		return w.ids, err
	}
	key := stored
	if w.pp.p.Lang {
		w.valueKey = append(append(append(w.valueKey[:0], byte(len(lang))), lang...), stored...)
		key = w.valueKey
	}
	known := c.values.len()
	n := c.values.id(hashBytes(key), key)
	if int(n) < known {
		c.hits++
		return c.at(n), nil
	}
	ids, err := w.tokenize(c.ids, stored, lang)
	if err != nil {
		return nil, err
	}
	c.ids = ids
	c.ends = append(c.ends, uint32(len(ids)))
	seen := c.values.len()
	c.off = seen >= cacheMost || (seen >= cacheTrial && c.hits < seen/4)
	return c.at(n), nil
}

// tokenize appends the numbers of a value's tokens.
func (w *worker) tokenize(ids []uint32, stored []byte, lang string) ([]uint32, error) {
	w.tokens.Reset()
	if err := appendTokens(&w.tokens, w.pp.p, stored, lang); err != nil {
		return ids, err
	}
	t := &w.pt.index.keys
	for i := range w.tokens.Len() {
		term := w.tokens.At(i)
		ids = append(ids, t.id(hashBytes(term), term))
	}
	return ids, nil
}
