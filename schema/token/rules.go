package token

import (
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/bg"
	"github.com/blevesearch/bleve/v2/analysis/lang/ca"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/ckb"
	"github.com/blevesearch/bleve/v2/analysis/lang/cs"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/el"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/eu"
	"github.com/blevesearch/bleve/v2/analysis/lang/fa"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/ga"
	"github.com/blevesearch/bleve/v2/analysis/lang/gl"
	"github.com/blevesearch/bleve/v2/analysis/lang/hi"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/hy"
	"github.com/blevesearch/bleve/v2/analysis/lang/id"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/lang/tr"
	"github.com/blevesearch/bleve/v2/registry"
)

// rules are what fulltext does with the words of a language: stop words are
// dropped, then what is left is stemmed.
type rules struct {
	// filters are bleve's, in the order in which they run. They keep no state.
	filters []analysis.TokenFilter
	// stops, where not nil, are the stop words of English, which has no filters:
	// its words are looked up here and stemmed by sealStem.
	stops analysis.TokenMap
}

// noRules leave words as they are.
var noRules = &rules{}

// filterNames are the names under which bleve has a language's filters; "" for
// none, and for the stemmer of English.
type filterNames struct{ stop, stem string }

var languageFilters = map[string]filterNames{
	"ar":  {ar.StopName, ar.StemmerName},
	"bg":  {bg.StopName, ""},
	"ca":  {ca.StopName, ""},
	"ckb": {ckb.StopName, ckb.StemmerName},
	"cs":  {cs.StopName, ""},
	"da":  {da.StopName, da.SnowballStemmerName},
	"de":  {de.StopName, de.LightStemmerName},
	"el":  {el.StopName, ""},
	"en":  {en.StopName, ""},
	"es":  {es.StopName, es.LightStemmerName},
	"eu":  {eu.StopName, ""},
	"fa":  {fa.StopName, ""},
	"fi":  {fi.StopName, fi.SnowballStemmerName},
	"fr":  {fr.StopName, fr.LightStemmerName},
	"ga":  {ga.StopName, ""},
	"gl":  {gl.StopName, ""},
	"hi":  {hi.StopName, hi.StemmerName},
	"hu":  {hu.StopName, hu.SnowballStemmerName},
	"hy":  {hy.StopName, ""},
	"id":  {id.StopName, ""},
	"it":  {it.StopName, it.LightStemmerName},
	"ja":  {"", cjk.BigramName},
	"ko":  {"", cjk.BigramName},
	"nl":  {nl.StopName, nl.SnowballStemmerName},
	"no":  {no.StopName, no.SnowballStemmerName},
	"pt":  {pt.StopName, pt.LightStemmerName},
	"ro":  {ro.StopName, ro.SnowballStemmerName},
	"ru":  {ru.StopName, ru.SnowballStemmerName},
	"sv":  {sv.StopName, sv.SnowballStemmerName},
	"tr":  {tr.StopName, tr.SnowballStemmerName},
	"zh":  {"", cjk.BigramName},
}

// languageRules makes the rules of each language when they are first asked for:
// the lists of stop words are long. A failure to make them would be bleve's own
// tables missing; it panics, and Append makes an error of that.
var languageRules = func() map[string]func() *rules {
	all := make(map[string]func() *rules, len(languageFilters))
	for base, names := range languageFilters {
		all[base] = sync.OnceValue(func() *rules { return newRules(base, names) })
	}
	return all
}()

// rulesOf gives the rules of a language's base.
func rulesOf(base string) *rules {
	if get, ok := languageRules[base]; ok {
		return get()
	}
	return noRules
}

func newRules(base string, names filterNames) *rules {
	cache := registry.NewCache()
	if base == english {
		stops, err := cache.TokenMapNamed(names.stop)
		if err != nil {
			panic(err)
		}
		return &rules{stops: stops}
	}
	r := &rules{}
	for _, name := range []string{names.stop, names.stem} {
		if name == "" {
			continue
		}
		filter, err := cache.TokenFilterNamed(name)
		if err != nil {
			panic(err)
		}
		r.filters = append(r.filters, filter)
	}
	return r
}
