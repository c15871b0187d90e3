// Verifies a transparency log with Go's own packages: its checkpoint, and a proof of every leaf by its tiles. Of an exported log
// also that every entry is the one that its leaf is the hash of.
//
//	go run . http://127.0.0.1:3000/log
//	go run . exported-folder "$(cat log.vkey)"
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A bundle has as many entries as a tile has hashes: 2^8.
const bundleEntries = 1 << tileHeight

// A tile has the hashes of 2^8 subtrees. Go names this height in the path, C2SP tlog-tiles does not.
const tileHeight = 8

// The URL of a log, or the folder that has it.
type source string

type tiles struct{ log source }

func (tiles) Height() int                     { return tileHeight }
func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, len(wanted))
	for i, tile := range wanted {
		path := strings.TrimPrefix(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight))
		read[i] = t.log.get("tile/" + path)
	}
	return read, nil
}

func main() {
	served := source(os.Args[1])
	isExported := len(os.Args) > 2
	var vkey string
	if isExported {
		vkey = os.Args[2]
	} else {
		vkey = string(served.get("key"))
	}
	verifier, err := note.NewVerifier(vkey)
	check(err)
	opened, err := note.Open(served.get("checkpoint"), note.VerifierList(verifier))
	check(err)
	lines := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	root, err := tlog.ParseHash(lines[2])
	check(err)
	hashes := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, tiles{served})
	leaves := make([]tlog.Hash, size)
	for leaf := range leaves {
		proof, err := tlog.ProveRecord(size, int64(leaf), hashes)
		check(err)
		hash, err := hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, int64(leaf))})
		check(err)
		check(tlog.CheckRecord(proof, size, root, int64(leaf), hash[0]))
		leaves[leaf] = hash[0]
	}
	fmt.Println(lines[0], size)
	if isExported {
		fmt.Println("entries", checkEntries(served, leaves))
	}
}

// Checks that the entries of all bundles have these leaves, and that there are no more. Returns how many there are.
func checkEntries(exported source, leaves []tlog.Hash) int {
	checked := 0
	for checked < len(leaves) {
		width := min(bundleEntries, len(leaves)-checked)
		tile := tlog.Tile{H: tileHeight, L: -1, N: int64(checked / bundleEntries), W: width}
		bundle := exported.get("tile/entries/" + strings.TrimPrefix(tile.Path(), fmt.Sprintf("tile/%d/data/", tileHeight)))
		for range width {
			if len(bundle) < 2 || len(bundle) < 2+int(binary.BigEndian.Uint16(bundle)) {
				log.Fatalf("the bundle of entry %d was cut", checked)
			}
			end := 2 + int(binary.BigEndian.Uint16(bundle))
			if tlog.RecordHash(bundle[2:end]) != leaves[checked] {
				log.Fatalf("entry %d is not the one of its leaf", checked)
			}
			bundle = bundle[end:]
			checked++
		}
		if len(bundle) > 0 {
			log.Fatalf("the bundle before entry %d has more than %d entries", checked, width)
		}
	}
	return checked
}

func (s source) get(path string) []byte {
	if !strings.HasPrefix(string(s), "http") {
		content, err := os.ReadFile(filepath.Join(string(s), filepath.FromSlash(path)))
		check(err)
		return content
	}
	url := string(s) + "/" + path
	response, err := http.Get(url)
	check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode != http.StatusOK {
		log.Fatalf("%s answered %s", url, response.Status)
	}
	return body
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
