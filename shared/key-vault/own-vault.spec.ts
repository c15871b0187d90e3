import { beforeEach, describe, expect, it } from '@jest/globals';
import { onchainStream } from '../../schemas/events/onchain/onchain-events.ts';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { MemoryEventStore } from '../testing/engines/event-store.memory.ts';
import { NO_STREAM } from '../event-store/event-store.ts';
import { addressOfKey } from '../keys/signatures/secp256k1-keys.ts';
import { systemClock } from '../primitives/clock.ts';
import { systemIds } from '../primitives/ids.ts';
import { anEvent } from '../testing/event-builder.ts';
import { MemoryKeyVault } from '../testing/engines/key-vault.memory.ts';
import { makeVault, requireOwnVault } from './own-vault.ts';
import { personalDataOf } from './personal-data.ts';
import { sealedIn } from './sealed-before.ts';
import { wrappingKeyOf } from './sealed-keys.ts';
import { sealText } from '../keys/sealed-text.ts';
import { VaultKeys } from './vault-keys.ts';

const masterKey = Buffer.alloc(32, 1);
const names = { vault: 'the vault', masterKey: 'master.key' };
const CHAIN_ID = 1;

describe('a process that opens the key vault', () => {
  let eventStore: MemoryEventStore;
  let keyVault: MemoryKeyVault;
  beforeEach(() => {
    eventStore = new MemoryEventStore();
    keyVault = new MemoryKeyVault();
  });
  const own = (vault = keyVault) => ({
    ...{ eventStore, keyVault: vault, masterKey, names },
    ...{ clock: systemClock, ids: systemIds },
  });
  const start = (vault?: MemoryKeyVault, key = masterKey) =>
    requireOwnVault({ ...own(vault), masterKey: key }, { makes: true });
  const read = (vault?: MemoryKeyVault) => requireOwnVault(own(vault), { makes: false });
  const idsIn = async (vault: MemoryKeyVault) => (await vault.list('', 100)).map(({ id }) => id);
  const storedVaults = async () => (await eventStore.read('vault')).map(({ data }) => data['vaultId']);

  it('makes an identity and the first keys once, of however many that start at once', async () => {
    await Promise.all(Array.from({ length: 10 }, () => start()));
    expect(await idsIn(keyVault)).toEqual(['audit', 'identities', 'token-signing-0001']);
    expect(await storedVaults()).toEqual([(await keyVault.identity())?.vaultId]);
    const keys = await keyVault.list('', 100);
    await Promise.all([start(), read()]);
    expect(await keyVault.list('', 100)).toEqual(keys);
  });

  it('completes what another began, and was killed before it was recorded', async () => {
    const { vaultId } = await makeVault(own());
    await expect(read()).resolves.toBeUndefined();
    await start();
    expect(await storedVaults()).toEqual([vaultId]);
  });

  it.each([{ makes: true }, { makes: false }])(
    'ends beside a lost event store, once users have keys: %j',
    async (use) => {
      await start();
      const lost = eventStore;
      eventStore = new MemoryEventStore();
      await expect(requireOwnVault(own(), use)).resolves.toBeUndefined();
      eventStore = new MemoryEventStore();
      await new VaultKeys(keyVault, masterKey, systemClock, sealedIn(lost)).dataKey('usr_1');
      const keys = await keyVault.list('', 100);
      await expect(requireOwnVault(own(), use)).rejects.toThrow(
        'the vault has keys of users, and the event store knows no user',
      );
      expect([await keyVault.list('', 100), await eventStore.head()]).toEqual([keys, 0]);
      eventStore = lost;
      await expect(requireOwnVault(own(), use)).resolves.toBeUndefined();
    },
  );

  it('makes nothing where it only reads', async () => {
    await expect(read()).rejects.toThrow('has no keys yet');
    expect([await idsIn(keyVault), await keyVault.identity(), await storedVaults()]).toEqual([[], undefined, []]);
  });

  it.each([{ makes: true }, { makes: false }])('ends where the vault was lost, and makes no key: %j', async (use) => {
    await start();
    const lost = new MemoryKeyVault();
    await expect(requireOwnVault(own(lost), use)).rejects.toThrow('is empty or restored in part');
    expect(await idsIn(lost)).toEqual([]);
    const another = new MemoryKeyVault();
    await makeVault(own(another));
    await expect(requireOwnVault(own(another), use)).rejects.toThrow('is another key vault');
  });

  it('ends with another master key, which it names', async () => {
    await start();
    await expect(start(keyVault, Buffer.alloc(32, 2))).rejects.toThrow('master.key is not the master key of the vault');
  });

  it('ends while the keys are of two master keys', async () => {
    await start();
    const identity = await keyVault.identity();
    if (!identity) throw new Error('there is no identity');
    await keyVault.identify({ ...identity, isRewrapping: true }, identity.check);
    await expect(start()).rejects.toThrow('"annals vault rewrap" was not finished');
  });

  describe('of an installation from before vaults had an identity', () => {
    /** A vault of an earlier version: keys, but no identity. */
    let former: MemoryKeyVault;
    beforeEach(() => {
      former = new MemoryKeyVault();
    });
    const addKey = async (id: string, key: Buffer) => {
      const sealed = sealText(wrappingKeyOf(masterKey), id, key.toString('base64'));
      await former.add([{ id, sealed, createdAt: '2026-01-02T03:04:05.678Z' }], undefined);
    };
    const [dataKey, paymasterKey, executorKey] = [3, 4, 5].map((byte) => Buffer.alloc(32, byte));
    if (!dataKey || !paymasterKey || !executorKey) throw new Error('there are three keys');

    const use = async () => {
      await addKey('data-usr_1', dataKey);
      await addKey('identities', dataKey);
      await addKey(`paymaster-${String(CHAIN_ID)}`, paymasterKey);
      await addKey(`executor-${String(CHAIN_ID)}-0`, executorKey);
      const personalData = personalDataOf(own(former));
      const claim = { identityId: 'one', method: 'wallet', label: '0x1', userId: 'usr_1' };
      const sealed = await personalData.seal(anEvent({ type: 'IdentityClaimed', data: claim }));
      await eventStore.append('identity-one', NO_STREAM, [sealed]);
      const prepared = {
        ...eventExamples.ChainPrepared,
        paymasterOwner: addressOfKey(paymasterKey),
        executors: [addressOfKey(executorKey)],
      };
      await eventStore.append(onchainStream(CHAIN_ID), NO_STREAM, [anEvent({ type: 'ChainPrepared', data: prepared })]);
    };

    it('gives the vault one, and keeps its keys', async () => {
      await use();
      await read(former);
      expect(await storedVaults()).toEqual([]);
      await Promise.all([start(former), start(former)]);
      expect(await storedVaults()).toEqual([(await former.identity())?.vaultId]);
      const keys = new VaultKeys(former, masterKey, systemClock, sealedIn(eventStore));
      expect(await keys.identitiesKey()).toEqual(dataKey);
      expect(await keys.paymasterKey(CHAIN_ID)).toEqual(paymasterKey);
    });

    it('ends if the vault was lost, or has not the keys that were used', async () => {
      await use();
      await expect(start()).rejects.toThrow('lacks the key paymaster-1');
      await expect(read()).rejects.toThrow('lacks the key paymaster-1');
      expect([await idsIn(keyVault), await keyVault.identity(), await storedVaults()]).toEqual([[], undefined, []]);
      await makeVault(own());
      const others = new VaultKeys(keyVault, masterKey, systemClock, sealedIn(eventStore));
      await others.makeChainKeys(CHAIN_ID, { paymaster: true, executors: [0] });
      await expect(start()).rejects.toThrow('the key paymaster-1 of the vault is not the one');
      expect(await storedVaults()).toEqual([]);
    });
  });
});
