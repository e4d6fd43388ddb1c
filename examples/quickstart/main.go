// Command quickstart loads a small graph of films into a store of its own and
// answers a question about it: in which films did two actors play together?
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest/loader"
)

var (
	//go:embed films.schema
	filmSchema string
	//go:embed films.nq
	filmData []byte
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// run makes the store in a temporary folder, loads it and asks.
func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "edgemill-quickstart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := edgemill.Open(ctx, edgemill.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	if err := db.Alter(ctx, filmSchema); err != nil {
		return err
	}
	done, err := loader.Load(ctx, db, loader.Options{
		Inputs: []loader.Input{{Name: "films.nq", Reader: bytes.NewReader(filmData)}},
	})
	if err != nil {
		return err
	}
	fmt.Printf("Loaded %d statements about %d nodes.\n", done.Statements, done.Nodes)
	return ask(ctx, db, "Toshirō Mifune", "Takashi Shimura")
}

// ask prints the films that both people played in.
func ask(ctx context.Context, db *edgemill.DB, a, b string) error {
	view, err := db.View(ctx, 0)
	if err != nil {
		return err
	}
	defer view.Close()
	filmsOfA, err := filmsWith(view, a)
	if err != nil {
		return err
	}
	filmsOfB, err := filmsWith(view, b)
	if err != nil {
		return err
	}
	fmt.Printf("Films with %s and %s:\n", a, b)
	for _, film := range filmsOfA {
		if !slices.Contains(filmsOfB, film) {
			continue
		}
		if err := printFilm(view, film); err != nil {
			return err
		}
	}
	return nil
}

// filmsWith finds a person by the index of names, and the films by the reverse
// of starring.
func filmsWith(view *edgemill.View, name string) ([]uint64, error) {
	people, err := view.Lookup("name", "exact", name, "")
	if err != nil {
		return nil, err
	}
	var films []uint64
	for _, person := range people {
		some, err := view.Sources(person, "starring")
		if err != nil {
			return nil, err
		}
		films = append(films, some...)
	}
	return films, nil
}

func printFilm(view *edgemill.View, film uint64) error {
	name, _, err := view.Value(film, "name")
	if err != nil {
		return err
	}
	year, _, err := view.Value(film, "year")
	if err != nil {
		return err
	}
	title, err := name.Text()
	if err != nil {
		return err
	}
	when, err := year.Text()
	if err != nil {
		return err
	}
	fmt.Printf("  %s (%s)\n", title, when)
	return nil
}
