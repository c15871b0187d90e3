// Verifies a checkpoint and its cosignatures (C2SP tlog-cosignature) with the packages of transparency-dev, and says who has signed.
//
//	go run . checkpoint "$(cat log.vkey)" "$(cat witness.vkey)"…
package main

import (
	"fmt"
	"log"
	"os"

	cosignature "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

func main() {
	checkpoint, err := os.ReadFile(os.Args[1])
	check(err)
	logVerifier, err := note.NewVerifier(os.Args[2])
	check(err)
	verifiers := []note.Verifier{logVerifier}
	for _, vkey := range os.Args[3:] {
		verifier, err := cosignature.NewVerifierForCosignatureV1(vkey)
		check(err)
		verifiers = append(verifiers, verifier)
	}
	opened, err := note.Open(checkpoint, note.VerifierList(verifiers...))
	check(err)
	for _, signature := range opened.Sigs {
		if signature.Name == logVerifier.Name() {
			fmt.Println(signature.Name)
			continue
		}
		time, err := cosignature.CoSigV1Timestamp(signature)
		check(err)
		fmt.Println(signature.Name, time.Unix())
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
