import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { CompactSign, generateKeyPair } from 'jose';
import type { JsonObject } from '../../schemas/json.ts';
import { personalDataOf } from '../key-vault/personal-data.ts';
import { canonicalJson } from '../primitives/text/canonical-json.ts';
import { anEvent } from '../testing/event-builder.ts';
import { exported, inPieces } from '../testing/exported.ts';
import { COSIGNATURE, NoteSigner } from '../transparency-log/signed-note.ts';
import { testFoundation } from '../testing/test-foundation.ts';
import { AuditKey } from './audit-key.ts';
import { verifyExport } from './verify-export.jose.ts';

const userId = 'usr_1';
type Line = JsonObject;

describe('an export of a history', () => {
  let lines: string[];
  let auditKey: AuditKey;
  beforeAll(async () => {
    const foundation = await testFoundation();
    const personalData = personalDataOf(foundation);
    auditKey = await AuditKey.open(personalData.keys);
    const events = [
      anEvent({ type: 'UserRegistered', data: { userId } }),
      ...['ada', 'grace', 'joan'].map((username) =>
        anEvent({ type: 'ProfileUpdated', data: { userId, changes: { username } } }),
      ),
    ];
    const sealed = await Promise.all(events.map((event) => personalData.seal(event)));
    await foundation.eventStore.append('user-usr_1', -1, sealed);
    lines = (await exported(foundation, userId)).trimEnd().split('\n');
  });
  const keys = () => ({ keys: [auditKey.published] });
  const verify = (some: readonly string[], jwks: ReturnType<typeof keys> | undefined = keys()) =>
    verifyExport(inPieces(some.map((line) => `${line}\n`).join('')), { jwks });
  const changed = (at: number, change: (line: string) => string) =>
    lines.map((line, index) => (index === at ? change(line) : line));
  const edited = (change: (line: Line) => Line) => (line: string) => JSON.stringify(change(JSON.parse(line) as Line));

  it('is proven with the keys of the service, and without a server', async () => {
    const verified = {
      ...{ sub: userId, items: 4, erased: 0, position: 4, time: expect.any(String) },
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      log: expect.objectContaining({ origin: 'account.example/log', size: 4, signedBy: null, completeness: null }),
    };
    expect(await verify(lines)).toEqual({ ...verified, signedBy: auditKey.published.kid });
    expect(await verifyExport(inPieces(`${lines.join('\n')}\n`), undefined)).toEqual({ ...verified, signedBy: null });
  });

  it.each([
    ['a name', 1, (line: string) => line.replace('ada', 'eve'), 'line 2 was changed: its digest'],
    ['a time', 1, (line: string) => line.replace('"time":"2', '"time":"3'), 'line 2 was changed: its hash'],
    ['a salt', 2, edited((line) => ({ ...line, salt: '0'.repeat(32) })), 'line 3 was changed: its digest'],
    ['a hash', 0, edited((line) => ({ ...line, hash: '0'.repeat(64) })), 'line 1 was changed: its hash'],
    ['the order', 1, () => '', 'line 2 is not JSON'],
    ['JSON', 2, () => '{', 'line 3 is not JSON'],
    ['an item', 2, () => '{"a":1}', 'line 3 is not an item'],
    ['an object', 2, () => '7', 'line 3 is not an item'],
    ['a member, added', 2, edited((line) => ({ ...line, extra: 1 })), 'line 3 is not an item of a history: Unrec'],
    [
      'a member of its data, added',
      1,
      (line: string) => line.replace('"data":{', '"data":{"__proto__":1,'),
      'line 2 is written as',
    ],
    ['a member, taken', 2, edited(({ app: _app, ...line }) => line), 'line 3 is not an item of a history: app'],
    ['the actor', 2, edited((line) => ({ ...line, actor: { ...(line['actor'] as Line), extra: 1 } })), 'line 3 is not'],
    [
      'data, with the salt taken',
      1,
      edited((line) => ({ ...line, data: { a: 1 }, salt: null })),
      'line 2 has data without',
    ],
    ['data, taken', 1, edited((line) => ({ ...line, data: null })), 'line 2 has a salt without data'],
    [
      'data and salt, taken',
      1,
      edited((line) => ({ ...line, data: null, salt: null })),
      'line 2 has no data, and lines',
    ],
    [
      'data and salt of the first, taken',
      0,
      edited((line) => ({ ...line, data: null, salt: null })),
      'line 2 has data',
    ],
    ['a space, added', 1, (line: string) => line.replace('"data":', '"data": '), 'line 2 is written as no export is'],
    [
      'a member, given twice',
      1,
      (line: string) => line.replace('"data":', '"data":{},"data":'),
      'line 2 is written as',
    ],
    ['a number', 1, (line: string) => line.replace('"position":2', '"position":2.0'), 'line 2 is written as'],
    ['a line end', 1, (line: string) => `${line}\r`, 'line 2 is written as'],
    ['the beginning', 0, (line: string) => `\ufeff${line}`, 'line 1 is not JSON'],
    ['whose it is', 4, edited((line) => ({ ...line, sub: 'usr_2' })), 'line 1 is not of the user that line 5 names'],
    ['how many there are', 4, edited((line) => ({ ...line, items: 5 })), 'line 5 signs 5 items, and there are 4'],
    ['until when', 4, edited((line) => ({ ...line, position: 3 })), 'line 5 ends at position 3'],
    ['when', 4, edited((line) => ({ ...line, time: '2030-01-01T00:00:00.000Z' })), 'line 5 was changed: its signature'],
    ['the last hash', 4, edited((line) => ({ ...line, hash: '0'.repeat(64) })), 'lines are missing before line 5'],
    ['the last line, a member added', 4, edited((line) => ({ ...line, extra: 1 })), 'line 5 is not the last line'],
    [
      'the end of the signature',
      4,
      (line: string) => `${line.slice(0, -3)}!"}`,
      'the signature in line 5 is not a compact',
    ],
  ])('is not proven when %s was changed', async (_, at, change, message) => {
    await expect(verify(changed(at, change))).rejects.toThrow(message);
  });

  it('is not proven when a line was taken, moved or doubled', async () => {
    const without = (at: number) => lines.filter((_, index) => index !== at);
    await expect(verify(without(1))).rejects.toThrow('line 2 does not follow');
    await expect(verify(without(3))).rejects.toThrow('lines are missing before line 4, the signature');
    await expect(verify(without(4))).rejects.toThrow('the last line with the signature is missing');
    await expect(verify([...lines.slice(0, 2), lines[1] ?? '', ...lines.slice(2)])).rejects.toThrow('line 3 does not');
    await expect(verify([...lines, lines[0] ?? ''])).rejects.toThrow('line 6 is after the signature');
    await expect(verify([...lines, ''])).rejects.toThrow('line 6 is after the signature');
  });

  it('is not proven when it was cut, has bytes that are no text, or a line without end', async () => {
    const whole = `${lines.join('\n')}\n`;
    await expect(verifyExport(inPieces(whole.slice(0, -1)), { jwks: keys() })).rejects.toThrow(
      'line 5 does not end with a line feed',
    );
    const bytes = Buffer.from(whole);
    bytes[10] = 0xff;
    const pieces = async function* () {
      yield await Promise.resolve(bytes);
    };
    await expect(verifyExport(pieces(), { jwks: keys() })).rejects.toThrow('line 1 is not UTF-8');
    const endless = async function* () {
      for (;;) yield await Promise.resolve(Buffer.alloc(2 ** 20, 'x'));
    };
    await expect(verifyExport(endless(), { jwks: keys() })).rejects.toThrow('line 1 is longer than any line');
  });

  it('is not proven when every line has lost its data, and the user was not erased', async () => {
    const blank = edited((line) => ({ ...line, data: null, salt: null }));
    const blanked = lines.map((line, at) => (at < 4 ? blank(line) : line));
    await expect(verify(blanked)).rejects.toThrow('no line says that the user was erased');
  });

  it('is not proven by another key, nor by one that is not for exports', async () => {
    const other = await AuditKey.open(personalDataOf(await testFoundation()).keys);
    await expect(verify(lines, { keys: [other.published] })).rejects.toThrow(
      'the signature in line 5 is not by an audit key',
    );
    const { signature: _, ...end } = JSON.parse(lines[4] ?? '') as Line;
    const { privateKey } = await generateKeyPair('ES256');
    const forged = await new CompactSign(Buffer.from(canonicalJson(end)))
      .setProtectedHeader({ alg: 'ES256', kid: auditKey.published.kid })
      .sign(privateKey);
    const last = JSON.stringify({ ...end, signature: forged });
    await expect(verify([...lines.slice(0, -1), last])).rejects.toThrow(
      'the signature in line 5 is not by an audit key',
    );
  });

  describe('of an earlier format is proven as what it is:', () => {
    /** The items without what the log says of them. */
    const lineOf = edited(
      ({ leaf: _l, stream: _s, revision: _r, id: _i, schemaVersion: _v, metadata: _m, ...line }) => line,
    );
    const signed = async (end: Line) =>
      JSON.stringify({ ...end, signature: await text(auditKey.sign([canonicalJson(end)])) });
    const items = () => lines.slice(0, -1).map(lineOf);
    const hash = () => (JSON.parse(lines[3] ?? '') as { hash: string }).hash;

    it('of the second, whose, how many and until when', async () => {
      const end = { sub: userId, items: 4, position: 4, hash: hash(), time: '2026-01-01T00:00:00.000Z' };
      const former = [...items(), await signed(end)];
      expect(await verify(former)).toEqual({ ...end, erased: 0, signedBy: auditKey.published.kid, log: null });
      await expect(verify([...lines.slice(0, -1), await signed(end)])).rejects.toThrow('line 5 has another format');
      await expect(verify([...items(), lines[4] ?? ''])).rejects.toThrow('line 5 has another format');
      await expect(verify([lines[0] ?? '', ...former.slice(1)])).rejects.toThrow('line 2 has another format');
      const witnesses = [new NoteSigner('witness.example', Buffer.alloc(32, 3), COSIGNATURE).key];
      await expect(verifyExport(inPieces(`${former.join('\n')}\n`), { witnesses })).rejects.toThrow(
        'line 5 has no checkpoint',
      );
    });

    it('of the first, neither of these', async () => {
      const first = async (previous: string) =>
        JSON.stringify({ previous, signature: await text(auditKey.sign([previous])) });
      expect(await verify([...items(), await first(hash())])).toEqual({
        ...{ sub: null, items: 4, erased: 0, position: null, hash: hash(), time: null },
        ...{ signedBy: auditKey.published.kid, log: null },
      });
      await expect(verify([...items().slice(0, 3), await first(hash())])).rejects.toThrow(
        'lines are missing before line 4',
      );
      const longer = (await first(hash())).replace('}', ',"sub":"usr_1"}');
      await expect(verify([...items(), longer])).rejects.toThrow('line 5 is not the last line of an export');
    });
  });
});
