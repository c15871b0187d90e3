import { describe, expect, it } from '@jest/globals';
import {
  consistencyProof,
  EMPTY_ROOT,
  inclusionProof,
  isConsistent,
  leafHash,
  nodeHash,
  rootByInclusion,
  rootOf,
  subtreesOf,
  type Hash,
  type Subtree,
} from './merkle-tree.ts';

/** The leaves of the test vectors of certificate-transparency-go, whose roots follow. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map(
  (hex) => leafHash(Buffer.from(hex, 'hex')),
);
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

/** The hash of these leaves by the definition in RFC 9162, 2.1.1. */
const rootByDefinition = (leaves: readonly Hash[]): Hash => {
  const [only] = leaves;
  if (!only) return EMPTY_ROOT;
  if (leaves.length === 1) return only;
  let left = 1;
  while (left * 2 < leaves.length) left *= 2;
  return nodeHash(rootByDefinition(leaves.slice(0, left)), rootByDefinition(leaves.slice(left)));
};
const leavesOf = (size: number): Hash[] => Array.from({ length: size }, (_, at) => leafHash(String(at)));
const hashOf =
  (leaves: readonly Hash[]) =>
  ({ level, index }: Subtree): Hash =>
    rootByDefinition(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level));
const hashesOf = (leaves: readonly Hash[], proof: readonly Subtree[][]): Hash[] =>
  proof.map((subtrees) => rootOf(subtrees.map(hashOf(leaves))));
const SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 70];

describe('the tree of RFC 9162', () => {
  it('has the roots of the test vectors', () => {
    for (const [size, root] of ROOTS.entries()) {
      const leaves = LEAVES.slice(0, size);
      expect(rootOf(subtreesOf(0, size).map(hashOf(leaves))).toString('hex')).toBe(root);
    }
  });

  it('has an inclusion proof of every leaf, which proves no other leaf, place or size', () => {
    for (const size of SIZES) {
      const leaves = leavesOf(size);
      const root = rootByDefinition(leaves);
      for (const [index, leaf] of leaves.entries()) {
        const proof = hashesOf(leaves, inclusionProof(index, size));
        const isIn = (hash: Hash, place: { index: number; size: number }, shown = proof) =>
          rootByInclusion(hash, place, shown)?.equals(root) ?? false;
        expect(isIn(leaf, { index, size })).toBe(true);
        expect(isIn(leafHash('another'), { index, size })).toBe(false);
        for (const other of SIZES) if (other !== index) expect(isIn(leaf, { index: other, size })).toBe(false);
        expect(isIn(leaf, { index, size: size * 4 })).toBe(false);
        for (const none of [-1, -4, 0.5, NaN, size, Infinity]) expect(isIn(leaf, { index: none, size })).toBe(false);
        expect(isIn(leaf, { index, size: size + 0.5 })).toBe(false);
        expect(isIn(leaf, { index, size }, [...proof, root])).toBe(false);
        if (proof.length > 0) expect(isIn(leaf, { index, size }, proof.slice(1))).toBe(false);
      }
    }
  });

  it('has a consistency proof from every size, which proves no other root', () => {
    for (const size of SIZES) {
      const leaves = leavesOf(size);
      const newer = { size, root: rootByDefinition(leaves) };
      for (let first = 0; first <= size; first += 1) {
        const older = { size: first, root: rootByDefinition(leaves.slice(0, first)) };
        const proof = hashesOf(leaves, consistencyProof(first, size));
        expect(isConsistent(older, newer, proof)).toBe(true);
        const forged = { size: first, root: leafHash('forged') };
        expect(isConsistent(forged, newer, proof)).toBe(false);
        if (first > 0) expect(isConsistent(older, { size, root: leafHash('forged') }, proof)).toBe(false);
        expect(isConsistent(older, newer, [...proof, newer.root])).toBe(false);
        if (proof.length > 0) expect(isConsistent(older, newer, proof.slice(0, -1))).toBe(false);
        if (first < size) expect(isConsistent(newer, older, proof)).toBe(false);
      }
    }
  });

  it('refuses proofs of what cannot be', () => {
    expect(() => inclusionProof(3, 3)).toThrow('there is no leaf 3 in a tree of 3');
    expect(() => consistencyProof(4, 3)).toThrow('a tree of 3 leaves does not begin with one of 4');
  });
});
