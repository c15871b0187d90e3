import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BSON } from 'mongodb';
import type { JsonObject } from '../../../schemas/json.ts';
import { decodeDocument, encodeDocument, encodeName } from './mongo-document.ts';

const names = ['$set', 'a.b', '__proto__', '_bsontype', '_from', '%', '', '\0', '\ud800', '0', 'constructor', 'id'];
const name = fc.oneof(fc.constantFrom(...names), fc.string({ unit: 'binary' }));
const scalar = fc.oneof(
  ...[fc.constantFrom(...names), fc.string({ unit: 'binary' }), fc.boolean(), fc.constant(null), fc.maxSafeInteger()],
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
);
const someDocument: fc.Arbitrary<JsonObject> = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalar, fc.array(tie('value'), { maxLength: 3 }), tie('document')),
  document: fc
    .array(fc.tuple(name, tie('value')), { maxLength: 5 })
    .map((members) => Object.fromEntries(members) as JsonObject),
})).document;

describe('a document as MongoDB stores it', () => {
  it('is decoded as it was encoded, member by member', () => {
    fc.assert(
      fc.property(someDocument, (document) => {
        const stored = BSON.deserialize(BSON.serialize(encodeDocument(document)));
        expect(JSON.stringify(decodeDocument(stored))).toBe(JSON.stringify(document));
      }),
    );
  });

  it('has no name that is a path, an operator or a type, and no duplicate name', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name), (all) => {
        const encoded = all.map(encodeName);
        for (const one of encoded) expect(one).toMatch(/^(?!\$|__proto__$|_bsontype$)[^.\0]+$/);
        expect(new Set(encoded).size).toBe(all.length);
      }),
    );
  });

  it('stays readable when no name needs encoding', () => {
    expect(encodeDocument({ BlockNumber: 7, Data: { _from: '0x1', 'we"ird': null }, list: [1] })).toEqual({
      BlockNumber: 7,
      Data: { _from: '0x1', 'we"ird': null },
      list: { '%': '[1]' },
    });
  });
});
