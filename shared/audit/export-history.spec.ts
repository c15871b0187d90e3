import { describe, expect, it, jest } from '@jest/globals';
import type { EventType } from '../../schemas/events/catalogue.ts';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { exportedItem, exportEnd } from '../../schemas/http/account/history.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { NO_STREAM } from '../event-store/event-store.ts';
import { personalDataOf } from '../key-vault/personal-data.ts';
import { historyModel } from '../read-models/account/history.ts';
import { anEvent } from '../testing/event-builder.ts';
import { exported, inPieces } from '../testing/exported.ts';
import { projectStored } from '../testing/project.ts';
import { testFoundation, type TestFoundation } from '../testing/test-foundation.ts';
import { LogProofs } from './log-proofs.ts';
import { verifyExport } from './verify-export.jose.ts';

const userId = 'usr_1';

/** Appends an event to a stream. Events of earlier versions are stored without a digest, as they were then. */
const stored = async (
  foundation: TestFoundation,
  stream: string,
  [type, data = {}]: readonly [EventType, JsonObject?],
  { isFormer = false } = {},
): Promise<void> => {
  const { eventStore } = foundation;
  const [newest] = await eventStore.read(stream, { direction: 'backwards', limit: 1 });
  const event = anEvent({ type, data: { ...eventExamples[type], userId, ...data } });
  const sealed = await personalDataOf(foundation).seal(event);
  await eventStore.append(stream, newest?.revision ?? NO_STREAM, [
    isFormer ? { ...sealed, metadata: event.metadata } : sealed,
  ]);
};

const aHistory = async (foundation: TestFoundation, options = {}): Promise<void> => {
  const store = (stream: string, ...event: readonly [EventType, JsonObject?]) =>
    stored(foundation, stream, event, options);
  await store('user-usr_1', 'UserRegistered');
  await store('user-usr_1', 'UserLoggedIn', { sessionId: 'ses_1' });
  await store('user-usr_1', 'UserLoggedIn', { sessionId: 'ses_2' });
  await store('session-ses_2', 'SessionStarted', { sessionId: 'ses_2' });
  await store('session-ses_1', 'SessionStarted', { sessionId: 'ses_1' });
  await store('transaction-tx_1', 'TxSubmitted', { transactionId: 'tx_1' });
  await store('session-ses_2', 'SessionRefreshed', { sessionId: 'ses_2' });
  await store('transaction-tx_2', 'TxSubmitted', { transactionId: 'tx_2', userId: null });
  await store('session-ses_2', 'SessionRevoked', { sessionId: 'ses_2' });
  await store('user-usr_2', 'UserRegistered', { userId: 'usr_2' });
  await store('transaction-tx_3', 'TxSubmitted', { transactionId: 'tx_3' });
  await store('transaction-tx_1', 'TxIncluded', { transactionId: 'tx_1' });
  await store('user-usr_1', 'ProfileUpdated', { changes: { username: 'ada' } });
  await store('transaction-tx_3', 'TxDropped', { transactionId: 'tx_3' });
};
const TYPES = [
  ...['UserRegistered', 'UserLoggedIn', 'UserLoggedIn', 'SessionStarted', 'SessionStarted', 'TxSubmitted'],
  ...['SessionRevoked', 'TxSubmitted', 'TxIncluded', 'ProfileUpdated', 'TxDropped'],
];

const itemsOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .slice(0, -1)
    .map((line) => exportedItem.parse(JSON.parse(line)));
const hashesOf = (text: string) => itemsOf(text).map(({ hash }) => hash);

describe('an export of a history', () => {
  it('has all events about the user in the order of the store, and ends with what is signed', async () => {
    const foundation = await testFoundation();
    await aHistory(foundation);
    const position = await foundation.eventStore.head();
    const text = await exported(foundation, userId);
    const items = itemsOf(text);
    expect(items.map(({ type }) => type)).toEqual(TYPES);
    expect(items.find(({ type }) => type === 'ProfileUpdated')?.data).toEqual({ userId, changes: { username: 'ada' } });
    const end = exportEnd.parse(JSON.parse(text.trimEnd().split('\n').at(-1) ?? ''));
    expect(end).toMatchObject({
      ...{ sub: userId, items: TYPES.length, hash: items.at(-1)?.hash },
      position,
    });
    expect(await verifyExport(inPieces(text, 7), undefined)).toMatchObject({ sub: userId, items: TYPES.length });
  });

  it('is the same before anything is projected, when some of it is, and when all is, as the read model is', async () => {
    const foundation = await testFoundation();
    await aHistory(foundation);
    const before = hashesOf(await exported(foundation, userId));
    await projectStored(foundation);
    await stored(foundation, 'transaction-tx_4', ['TxSubmitted', { transactionId: 'tx_4' }]);
    const some = hashesOf(await exported(foundation, userId));
    expect(some.slice(0, -1)).toEqual(before);
    await projectStored(foundation);
    const all = hashesOf(await exported(foundation, userId));
    expect(all).toEqual(some);
    const { item } = historyModel.collections;
    const found = await foundation.readStore.find(item.name, { filter: { userId }, sort: [['sequence', 'asc']] });
    expect(found.map(({ document }) => document['hash'])).toEqual(all);
  });

  it('is refused for a user who is not there', async () => {
    await expect(exported(await testFoundation(), 'nobody')).rejects.toMatchObject({ code: 'user_not_found' });
  });

  it('shows events that were stored without a digest as they are stored, and its hashes outlive an erasure', async () => {
    const foundation = await testFoundation();
    await aHistory(foundation, { isFormer: true });
    await stored(foundation, 'user-usr_1', ['ProfileUpdated', { changes: { username: 'grace' } }]);
    const before = await exported(foundation, userId);
    expect(before).not.toMatch(/\bada\b/);
    expect(before).toContain('grace');
    expect(await verifyExport(inPieces(before), undefined)).toMatchObject({ items: TYPES.length + 1, erased: 0 });

    await stored(foundation, 'user-usr_1', ['UserErased']);
    await personalDataOf(foundation).keys.destroyKeysOf(userId);
    await stored(foundation, 'transaction-tx_3', ['TxReorged', { transactionId: 'tx_3' }]);
    const after = await exported(foundation, userId);
    const count = TYPES.length + 3;
    expect(await verifyExport(inPieces(after), undefined)).toMatchObject({ items: count, erased: count });
    expect(hashesOf(after).slice(0, -2)).toEqual(hashesOf(before));
    expect(await verifyExport(inPieces(before), undefined)).toMatchObject({ items: TYPES.length + 1 });
  });

  it('ends without a signature when the user is erased while it is made', async () => {
    const foundation = await testFoundation();
    await aHistory(foundation);
    await personalDataOf(foundation).keys.destroyKeysOf(userId);
    await expect(exported(foundation, userId)).rejects.toMatchObject({ code: 'user_erased' });
  });

  it('has a hundred events of each of many streams', async () => {
    const foundation = await testFoundation();
    await stored(foundation, 'user-usr_1', ['UserRegistered']);
    for (let at = 0; at < 120; at += 1) {
      const sessionId = `ses_${String(at)}`;
      await stored(foundation, 'user-usr_1', ['UserLoggedIn', { sessionId }]);
      await stored(foundation, `session-${sessionId}`, ['SessionStarted', { sessionId }]);
      await stored(foundation, `transaction-tx_${String(at)}`, ['TxSubmitted', { transactionId: `tx_${String(at)}` }]);
    }
    for (let at = 119; at >= 0; at -= 1) {
      await stored(foundation, `session-ses_${String(at)}`, ['SessionRevoked', { sessionId: `ses_${String(at)}` }]);
    }
    const made = jest.spyOn(LogProofs.prototype, 'inclusion');
    const text = await exported(foundation, userId);
    // Each proof is made once, and is in the line and in the text that is signed.
    expect(made.mock.calls.flatMap(([leaves]) => leaves)).toHaveLength(1 + 3 * 120 + 120);
    made.mockRestore();
    expect(await verifyExport(inPieces(text), undefined)).toMatchObject({ items: 1 + 3 * 120 + 120 });
  });
});
