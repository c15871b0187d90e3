import { createDecipheriv, createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { EventType } from '../../schemas/events/catalogue.ts';
import { eventCatalogue } from '../../schemas/events/catalogue.ts';
import { sealedText, storedData } from '../../schemas/events/event.ts';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { NO_STREAM, type EventToAppend, type StoredEvent } from '../event-store/event-store.ts';
import { MemoryEventStore } from '../testing/engines/event-store.memory.ts';
import { systemClock } from '../primitives/clock.ts';
import { systemIds } from '../primitives/ids.ts';
import { anEvent, storedEvent } from '../testing/event-builder.ts';
import { TestClock } from '../testing/test-foundation.ts';
import { MemoryKeyVault } from '../testing/engines/key-vault.memory.ts';
import { personalDataOf, type PersonalData } from './personal-data.ts';
import { sealedIn } from './sealed-before.ts';
import { makeVault } from './own-vault.ts';
import { VaultKeys } from './vault-keys.ts';

const masterKey = Buffer.alloc(32, 1);
const changes = { username: 'ada', signature: null };

const aVault = async () => {
  const keyVault = new MemoryKeyVault();
  await makeVault({ keyVault, masterKey, clock: systemClock, ids: systemIds });
  return keyVault;
};

describe('personal data', () => {
  let keyVault: MemoryKeyVault;
  let personalData: PersonalData;
  beforeEach(async () => {
    keyVault = await aVault();
    personalData = personalDataOf({ keyVault, masterKey, clock: systemClock, eventStore: new MemoryEventStore() });
  });

  const updated = (userId: string, data: JsonObject = { userId, changes }) => anEvent({ type: 'ProfileUpdated', data });
  const stored = async (event: EventToAppend): Promise<StoredEvent> => {
    const store = new MemoryEventStore();
    await store.append('user-1', -1, [await personalData.seal(event)]);
    const [read] = await store.read('user-1');
    if (!read) throw new Error('the event is missing');
    return read;
  };

  it('is stored sealed, member by member, and comes back as it was', async () => {
    const event = await stored(updated('usr_1'));
    expect(event.dataText).not.toMatch(/\bada\b/);
    expect(event.data).toEqual({
      userId: 'usr_1',
      changes: { username: { enc: expect.any(String), kid: 'data-usr_1' }, signature: null },
    });
    const [opened] = await personalData.open([event]);
    expect(opened).toMatchObject({ data: { userId: 'usr_1', changes }, id: event.id, position: event.position });
  });

  it('is AES-256-GCM: IV, ciphertext and tag in base64url', async () => {
    const { enc } = await personalData.sealText('usr_1', 'hush 🤫');
    const key = await personalData.keys.dataKey('usr_1');
    const bytes = Buffer.from(enc, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16));
    expect(Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString()).toBe('hush 🤫');
    expect((await personalData.sealText('usr_1', 'hush 🤫')).enc).not.toBe(enc);
  });

  it.each(Object.keys(eventExamples) as EventType[])(
    'of the example of %s fits the schema of what is stored',
    async (type) => {
      const data = eventExamples[type] as JsonObject;
      const event = await stored(anEvent({ type, data }));
      expect(storedData(eventCatalogue[type]).parse(event.data)).toEqual(event.data);
      expect((await personalData.open([event]))[0]?.data).toEqual(data);
    },
  );

  it('that was stored in the clear is read as it is', async () => {
    const event = storedEvent('ProfileUpdated', { userId: 'usr_1', changes }, { position: 1 });
    expect(await personalData.open([event])).toEqual([event]);
  });

  it('of a destroyed key is null, and takes nothing from others', async () => {
    const [mine, theirs] = [await stored(updated('usr_1')), await stored(updated('usr_2'))];
    await personalData.keys.destroyKeysOf('usr_1');
    const [gone, kept] = await personalData.open([mine, theirs]);
    expect(gone?.data).toEqual({ userId: 'usr_1', changes: { username: null, signature: null } });
    expect(await personalData.openText(sealedText.parse(mine.metadata.salt))).toBeNull();
    expect(kept?.data).toEqual({ userId: 'usr_2', changes });
    await expect(personalData.seal(updated('usr_1'))).rejects.toMatchObject({ code: 'user_erased' });
  });

  it('is not needed to end a session of a user who was erased', async () => {
    await personalData.keys.destroyKeysOf('usr_1');
    const data = { ...eventExamples.SessionRevoked, userId: 'usr_1' };
    const event = await stored(anEvent({ type: 'SessionRevoked', data }));
    expect(event.data).toEqual(data);
    expect(event.metadata).toMatchObject({ digest: expect.stringMatching(/^[0-9a-f]{64}$/), salt: null });
  });

  it('whose key the vault has lost is an error, and not null', async () => {
    const event = await stored(updated('usr_1'));
    const eventStore = new MemoryEventStore();
    const elsewhere = personalDataOf({ keyVault: await aVault(), masterKey, clock: systemClock, eventStore });
    await expect(elsewhere.open([event])).rejects.toMatchObject({ code: 'dependency_unavailable' });
  });

  it('is not opened when a byte was changed', async () => {
    const { enc, kid } = await personalData.sealText('usr_1', 'hush');
    const bytes = Buffer.from(enc, 'base64url');
    bytes.writeUInt8(bytes.readUInt8(14) ^ 1, 14);
    await expect(personalData.openText({ enc: bytes.toString('base64url'), kid })).rejects.toThrow();
  });

  it('has a digest that an auditor computes from the salt and the RFC 8785 form of the data', async () => {
    const event = await stored(updated('usr_1'));
    const sealed = sealedText.parse(event.metadata.salt);
    expect(sealed.kid).toBe('data-usr_1');
    const salt = z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .parse(await personalData.openText(sealed));
    const text = `${salt}{"changes":{"signature":null,"username":"ada"},"userId":"usr_1"}`;
    expect(event.metadata.digest).toBe(createHash('sha256').update(text).digest('hex'));
    expect((await stored(updated('usr_1'))).metadata.digest).not.toBe(event.metadata.digest);
  });
});

describe('the keys of a vault', () => {
  const eventStore = new MemoryEventStore();
  const keysOf = (keyVault: MemoryKeyVault, { key = masterKey, clock = systemClock } = {}) =>
    new VaultKeys(keyVault, key, clock, sealedIn(eventStore));

  it('are one for each user, however many processes ask for it first', async () => {
    const keyVault = await aVault();
    const processes = Array.from({ length: 10 }, () => keysOf(keyVault));
    const keys = await Promise.all(processes.map((process) => process.dataKey('usr_1')));
    expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(1);
  });

  it('are destroyed for other processes a minute later at the latest', async () => {
    const [keyVault, clock] = [await aVault(), new TestClock()];
    const [one, other] = [keysOf(keyVault, { clock }), keysOf(keyVault, { clock })];
    await other.dataKey('usr_1');
    await one.destroyKeysOf('usr_1');
    await expect(one.dataKey('usr_1')).rejects.toMatchObject({ code: 'user_erased' });
    clock.time += 60_000;
    await expect(other.dataKey('usr_1')).rejects.toMatchObject({ code: 'user_erased' });
  });

  it('are refused with another master key', async () => {
    const keyVault = await aVault();
    await keysOf(keyVault).dataKey('usr_1');
    const other = keysOf(keyVault, { key: Buffer.alloc(32, 2) });
    await expect(other.identitiesKey()).rejects.toThrow('the key identities of the key vault cannot be opened');
    await expect(other.dataKey('usr_1')).rejects.toMatchObject({ detail: 'a key of the key vault cannot be opened' });
    await expect(other.dataKey('usr_2')).rejects.toThrow('its master key was replaced');
  });

  it('are not made anew where the event store has what was sealed with those that were lost', async () => {
    const before = personalDataOf({ keyVault: await aVault(), masterKey, clock: systemClock, eventStore });
    const claim = { identityId: 'one', method: 'wallet', label: '0x1', userId: 'usr_lost' };
    const registered = { userId: 'usr_lost', changes };
    for (const [stream, event] of [
      ['identity-one', anEvent({ type: 'IdentityClaimed', data: claim })],
      ['user-usr_lost', anEvent({ type: 'ProfileUpdated', data: registered })],
    ] as const) {
      await eventStore.append(stream, NO_STREAM, [await before.seal(event)]);
    }
    await eventStore.append('user-usr_lost', 0, [
      await before.seal(anEvent({ type: 'SmartAccountAssigned', data: { userId: 'usr_lost' } })),
    ]);
    const empty = keysOf(await aVault());
    await expect(empty.dataKey('usr_lost')).rejects.toMatchObject({
      code: 'dependency_unavailable',
      detail: 'the key vault lacks a key: restore it from its backup',
    });
    expect(await empty.dataKey('usr_new')).toHaveLength(32);
    await expect(empty.ownerOf('usr_lost')).rejects.toMatchObject({ code: 'dependency_unavailable' });
  });

  it('of the service are never made by who asks for them', async () => {
    const keyVault = await aVault();
    const keys = keysOf(keyVault);
    const before = await keyVault.list('', 100);
    await expect(keys.paymasterKey(1)).rejects.toThrow('lacks the key paymaster-1');
    await expect(keys.executorKey(1, 0)).rejects.toThrow('lacks the key executor-1-0');
    expect(await keys.paymasterKeyIfAny(1)).toBeUndefined();
    await expect(keysOf(new MemoryKeyVault()).auditKey()).rejects.toThrow('lacks the key audit');
    await expect(keysOf(new MemoryKeyVault()).identitiesKey()).rejects.toThrow('lacks the key identities');
    expect(await keyVault.list('', 100)).toEqual(before);
  });

  it('are not added to a vault that was emptied', async () => {
    await expect(keysOf(new MemoryKeyVault()).dataKey('usr_1')).rejects.toMatchObject({
      code: 'dependency_unavailable',
    });
  });

  it('are made for users whose events were stored in the clear', async () => {
    await eventStore.append('user-usr_old', NO_STREAM, [
      anEvent({ type: 'ProfileUpdated', data: { userId: 'usr_old', changes } }),
    ]);
    expect(await keysOf(await aVault()).dataKey('usr_old')).toHaveLength(32);
  });
});
