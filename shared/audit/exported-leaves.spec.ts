import { beforeAll, describe, expect, it } from '@jest/globals';
import { text } from 'node:stream/consumers';
import { LOG_STREAM } from '../../schemas/events/account/log-events.ts';
import { exportEnd, type ExportedItem, type ExportEnd } from '../../schemas/http/account/history.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { personalDataOf } from '../key-vault/personal-data.ts';
import { sha256 } from '../primitives/ids.ts';
import { hashedMembers } from '../read-models/account/history-line.ts';
import { canonicalJson } from '../primitives/text/canonical-json.ts';
import { anEvent } from '../testing/event-builder.ts';
import { exported, inPieces } from '../testing/exported.ts';
import { buildLog, projectStored } from '../testing/project.ts';
import { testFoundation, type TestFoundation } from '../testing/test-foundation.ts';
import { checkpointText } from '../transparency-log/checkpoint.ts';
import { EMPTY_ROOT } from '../transparency-log/merkle-tree.ts';
import { COSIGNATURE, NoteSigner, parseNote, signedNote } from '../transparency-log/signed-note.ts';
import { StoredLog } from '../transparency-log/stored-log.ts';
import { AuditKey } from './audit-key.ts';
import type { KeptCheckpoint } from './exported-leaves.ts';
import { SealedHistories } from './seals/sealed-histories.ts';
import { verifyExport, type Anchors } from './verify-export.jose.ts';

const userId = 'usr_1';
const ORIGIN = 'account.example/log';
/** So many that the log has more than one tile. */
const OTHERS = 300;

/** The item as it would be after an item with this hash. */
const chainedTo = (item: ExportedItem, previous: string): ExportedItem => {
  const { salt: _salt, data: _data, hash: _hash, ...hashed } = { ...hashedMembers(item), previous };
  return { ...item, previous, hash: sha256(canonicalJson(hashed)) };
};

describe('what the transparency log says of an export', () => {
  let foundation: TestFoundation;
  let auditKey: AuditKey;
  let logSigner: NoteSigner;
  let kept: KeptCheckpoint;
  /** Made before the newest item, after it, and after it was sealed too. */
  let older: string[];
  let unsealed: string[];
  let lines: string[];

  const linesOf = async () => (await exported(foundation, userId)).trimEnd().split('\n');
  const change = async (stream: string, id: string, username: string) => {
    const [newest] = await foundation.eventStore.read(stream, { direction: 'backwards', limit: 1 });
    const event = anEvent({ type: 'ProfileUpdated', data: { userId: id, changes: { username } } });
    const sealed = await personalDataOf(foundation).seal(event);
    return foundation.eventStore.append(stream, newest?.revision ?? -1, [sealed]);
  };
  const seal = async () => {
    const histories = new SealedHistories(foundation.eventStore, foundation.readStore);
    await projectStored(foundation);
    const now = await histories.treeNow();
    if (!now) throw new Error('there are histories');
    const data = { users: now.tree.users, root: now.tree.root.toString('base64') };
    const event = anEvent({ type: 'HistoriesSealed', data });
    const [newest] = await foundation.eventStore.read(LOG_STREAM, { direction: 'backwards', limit: 1 });
    await foundation.eventStore.append(LOG_STREAM, newest?.revision ?? -1, [
      { ...event, metadata: { ...event.metadata, causationId: now.upTo.id } },
    ]);
    const [stored] = await foundation.eventStore.read(LOG_STREAM, { direction: 'backwards', limit: 1 });
    if (stored) await histories.store(stored, now.tree);
  };

  beforeAll(async () => {
    foundation = await testFoundation();
    const { keys } = personalDataOf(foundation);
    auditKey = await AuditKey.open(keys);
    for (const name of ['ada', 'grace', 'joan']) await change(`user-${userId}`, userId, name);
    older = await linesOf();
    logSigner = new NoteSigner(ORIGIN, await keys.logKey());
    for (let at = 0; at < OTHERS; at += 1) await change(`user-usr_${String(at + 2)}`, `usr_${String(at + 2)}`, 'eve');
    await buildLog(foundation);
    kept = { ...(await new StoredLog(foundation.readStore).state()), origin: ORIGIN, of: 'kept.checkpoint' };
    unsealed = await linesOf();
    await change(`user-${userId}`, userId, 'mary');
    await seal();
    lines = await linesOf();
  });

  const verify = (some: readonly string[], anchors: Anchors = { logKey: logSigner.key }) =>
    verifyExport(inPieces(some.map((line) => `${line}\n`).join('')), anchors);
  const endOf = (some: readonly string[]): ExportEnd => exportEnd.parse(JSON.parse(some.at(-1) ?? ''));
  /** The export as an insider makes it, who has the audit key. */
  const signed = async (some: readonly string[], changes: Partial<ExportEnd>): Promise<string[]> => {
    const { signature: _, ...end } = { ...endOf(lines), ...changes };
    const signature = await text(auditKey.sign([canonicalJson(end)]));
    return [...some, JSON.stringify({ ...end, signature })];
  };
  const tiles = (ids: Parameters<StoredLog['tiles']>[0]) => new StoredLog(foundation.readStore).tiles(ids);

  it('is that each item is in it, and that none was left out when all histories were sealed', async () => {
    const sealedAt: unknown = expect.stringMatching(/^\d{4}-/);
    expect((await verify(lines)).log).toMatchObject({
      ...{ origin: ORIGIN, signedBy: ORIGIN, cosignedBy: [], agreesWith: [] },
      completeness: { items: 4, sealedAt, eventsSince: 0 },
      unattributed: 0,
    });
    expect((await verify(unsealed)).log).toMatchObject({ completeness: null });
    await change(`user-${userId}`, userId, 'hedy');
    expect(await verify(await linesOf())).toMatchObject({
      items: 5,
      log: { completeness: { items: 4, eventsSince: 1 } },
    });
  });

  it('is not proven with the key of another log, nor by a checkpoint that another key has signed', async () => {
    const other = new NoteSigner('other.example/log', Buffer.alloc(32, 1)).key;
    await expect(verify(lines, { logKey: other })).rejects.toThrow(`is of the log ${ORIGIN}, not of other.example/log`);
    const same = new NoteSigner(ORIGIN, Buffer.alloc(32, 1)).key;
    await expect(verify(lines, { logKey: same })).rejects.toThrow(`is not signed by ${ORIGIN}`);
  });

  it('is proven by a witness that has cosigned the checkpoint, and by no other', async () => {
    const witness = new NoteSigner('witness.example', Buffer.alloc(32, 2), COSIGNATURE);
    const { checkpoint } = endOf(lines);
    const { text: note } = parseNote(checkpoint);
    const cosigned = await signed(lines.slice(0, -1), { checkpoint: checkpoint + witness.sign(note, 1_700_000_000) });
    const witnesses = [witness.key];
    expect((await verify(cosigned, { witnesses })).log).toMatchObject({
      cosignedBy: [{ name: 'witness.example', time: 1_700_000_000 }],
    });
    await expect(verify(lines, { witnesses })).rejects.toThrow('is not cosigned by witness.example');
    const looked = checkpointText(kept);
    const state = { ...kept, note: signedNote(looked, [logSigner.sign(looked), witness.sign(looked, 1_800_000_000)]) };
    expect((await verify(lines, { kept: [kept, state], tiles, witnesses })).log).toMatchObject({
      cosignedBy: [{ name: 'witness.example', of: 'kept.checkpoint', time: 1_800_000_000 }],
    });
    const forked = { ...state, root: Buffer.alloc(32, 1) };
    await expect(verify(lines, { kept: [forked], tiles, witnesses })).rejects.toThrow('the log has two histories');
  });

  it('is compared with checkpoints that were kept, by the tiles between', async () => {
    expect((await verify(lines, { kept: [kept], tiles })).log).toMatchObject({
      agreesWith: [{ of: 'kept.checkpoint', size: kept.size }],
    });
    const { text: note } = parseNote(endOf(lines).checkpoint);
    const [, size, root = ''] = note.split('\n');
    const same = { origin: ORIGIN, size: Number(size), root: Buffer.from(root, 'base64'), of: 'same' };
    expect((await verify(lines, { kept: [same] })).log).toMatchObject({ agreesWith: [{ of: 'same' }] });
    await expect(verify(lines, { kept: [kept] })).rejects.toThrow('the tiles between are needed');
    const forked = { ...kept, root: Buffer.alloc(32, 1) };
    await expect(verify(lines, { kept: [kept, forked], tiles })).rejects.toThrow('the log has two histories');
    await expect(verify(lines, { kept: [{ ...same, root: Buffer.alloc(32) }] })).rejects.toThrow('two histories');
    await expect(verify(lines, { kept: [{ ...kept, origin: 'other' }], tiles })).rejects.toThrow('of other, and');
    const empty = { ...kept, size: 0, root: EMPTY_ROOT };
    await expect(verify(lines, { kept: [empty], tiles })).rejects.toThrow('has no leaves');
    const none = () => Promise.resolve([]);
    await expect(verify(lines, { kept: [kept], tiles: none })).rejects.toThrow('the tiles are not those');
  });

  it('refuses what an insider with the audit key makes up: an item left out, and one changed', async () => {
    const items = lines.slice(0, -1);
    const { proofs } = endOf(lines);
    const { hash } = JSON.parse(items[2] ?? '') as { hash: string };
    const shorter = await signed(items.slice(0, 3), { items: 3, hash, proofs: proofs.slice(0, 3) });
    await expect(verify(shorter)).rejects.toThrow('items are missing or were changed: the seal in line 4');

    const line = JSON.parse(items[3] ?? '') as JsonObject;
    const moved = JSON.stringify({ ...line, schemaVersion: 7 });
    await expect(verify(await signed([...items.slice(0, 3), moved], {}))).rejects.toThrow('line 4 is not proven');
    const other = JSON.stringify({ ...line, app: 'app_2' });
    await expect(verify([...items.slice(0, 3), other, lines[4] ?? ''])).rejects.toThrow('line 4 was changed');
    const without = await signed(items.toSpliced(1, 1), { items: 3, proofs: proofs.toSpliced(1, 1) });
    await expect(verify(without)).rejects.toThrow('line 2 does not follow the line before it');
    const fewer = await signed(items, { proofs: proofs.slice(1) });
    await expect(verify(fewer)).rejects.toThrow('line 5 has 3 proofs, and there are 4 items');
  });

  it.each([
    ['items', { items: 3 }, 'items are missing or were changed'],
    ['the hash', { hash: '0'.repeat(64) }, 'items are missing or were changed'],
    ['the leaf', { index: 0 }, 'the history is not proven'],
    ['the proof', { proof: [] }, 'the history is not proven'],
    ['the proof of the seal', { sealProof: [] }, 'the seal in line 5 is not proven'],
  ])('refuses a seal of which %s was changed', async (_, changes, message) => {
    const { completeness } = endOf(lines);
    if (!completeness) throw new Error('it has a seal');
    const changed = await signed(lines.slice(0, -1), { completeness: { ...completeness, ...changes } });
    await expect(verify(changed)).rejects.toThrow(message);
  });

  it.each([
    ['users', (seal: JsonObject) => ({ ...seal, data: { ...(seal['data'] as JsonObject), users: 1 } })],
    ['a root', (seal: JsonObject) => ({ ...seal, data: { users: 302, root: Buffer.alloc(32).toString('base64') } })],
    ['a type', (seal: JsonObject) => ({ ...seal, type: 'LogKeyMade' })],
    ['a stream', (seal: JsonObject) => ({ ...seal, stream: 'user-usr_1' })],
    ['no data', (seal: JsonObject) => ({ ...seal, data: null })],
    ['a time', (seal: JsonObject) => ({ ...seal, time: '2030-01-01T00:00:00.000Z' })],
    ['a position', (seal: JsonObject) => ({ ...seal, position: 1 })],
    ['an actor', (seal: JsonObject) => ({ ...seal, actor: { type: 'user', id: 'usr_1' } })],
  ])('refuses a seal that was given %s', async (_, change) => {
    const end = JSON.parse(lines.at(-1) ?? '') as JsonObject;
    const completeness = end['completeness'] as JsonObject;
    const changed = { ...completeness, seal: change(completeness['seal'] as JsonObject) };
    const made = await signed(lines.slice(0, -1), { completeness: changed as unknown as ExportEnd['completeness'] });
    await expect(verify(made)).rejects.toThrow(/seal in line 5/);
  });

  it('refuses a history of which a revision of the stream of the user is missing, and one that was sealed later', async () => {
    const items = lines.slice(0, -1).map((line) => JSON.parse(line) as ExportedItem);
    const [first, , third, fourth] = items;
    if (!first || !third || !fourth) throw new Error('there are four items');
    const chained = [third, fourth].reduce<ExportedItem[]>(
      (before, item) => [...before, chainedTo(item, before.at(-1)?.hash ?? '')],
      [first],
    );
    const proofs = endOf(lines).proofs.toSpliced(1, 1);
    const gap = await signed(
      chained.map((item) => JSON.stringify(item)),
      { items: 3, hash: chained.at(-1)?.hash ?? '', proofs },
    );
    await expect(verify(gap)).rejects.toThrow('an item is missing before line 2: it has revision 2 of user-usr_1');
    const { position } = fourth;
    const early = await signed(lines.slice(0, -1), { position });
    await expect(verify(early)).rejects.toThrow('the seal in line 5 is later than the export');
  });

  it('refuses text that is not Unicode', async () => {
    const half = lines.map((line, at) => (at === 1 ? line.replace('"grace"', String.raw`"\ud800"`) : line));
    await expect(verify(half)).rejects.toThrow('line 2 has text that is not Unicode');
  });

  it('refuses the end of another day, and items of another user', async () => {
    await expect(verify([...lines.slice(0, -1), older.at(-1) ?? ''])).rejects.toThrow(
      'lines are missing before line 5',
    );
    const strange = (await exported(foundation, 'usr_2')).trimEnd().split('\n');
    expect(await verify(strange)).toMatchObject({ sub: 'usr_2', items: 1 });
    const relabelled = await signed(strange.slice(0, -1), { ...endOf(strange), sub: userId });
    await expect(verify(relabelled)).rejects.toThrow('line 1 is not of the user that line 2 names');
    const forged = checkpointText({ origin: ORIGIN, size: 1, root: Buffer.alloc(32) });
    const other = await signed(lines.slice(0, -1), { checkpoint: signedNote(forged, [logSigner.sign(forged)]) });
    await expect(verify(other)).rejects.toThrow('line 1 is not proven to be in the tree');
    await expect(verify(await signed(lines.slice(0, -1), { checkpoint: 'x' }))).rejects.toThrow(
      'the checkpoint in line 5',
    );
  });
});
