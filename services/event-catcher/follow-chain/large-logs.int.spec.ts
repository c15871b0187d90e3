import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AbiCoder, keccak256 } from 'ethers';
import { pino } from 'pino';
import type { ChainEvent } from '../../../schemas/events/event-catcher/chain-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../../shared/chain/client/chain-reader.json-rpc.ts';
import type { EsdbEventStore } from '../../../shared/event-store/eventstoredb/event-store.esdb.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { EventStoreServer } from '../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { connectForTests } from '../../../shared/testing/event-store-server/test-store.esdb.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { following, followSettings } from '../testing/follower/following.ts';

const watch = {
  ...eventExamples.ContractRegistered,
  chainId: Anvil.chainId,
  eventName: 'Noted',
  eventSignature: 'Noted(string)',
  topic0: keccak256(Buffer.from('Noted(string)')),
  fragment: { name: 'Noted', anonymous: false, inputs: [{ name: 'text', type: 'string', indexed: false }] },
  startBlock: 0,
};
const contract = watch.contractAddress.toLowerCase();
const noted = (text: string) => ({
  address: contract,
  topics: [watch.topic0],
  data: AbiCoder.defaultAbiCoder().encode(['string'], [text]),
});
/** JSON writes six characters for each of these. */
const large = noted('\0'.repeat(200_000));

describe('a log that is too large for EventStoreDB, followed on a real chain', () => {
  const folder = temporaryFolder();
  let chain: Anvil;
  let server: EventStoreServer;
  let store: EsdbEventStore;
  beforeAll(async () => {
    chain = await Anvil.start(folder);
    server = await EventStoreServer.start();
    store = await connectForTests(server.url);
  });
  afterAll(async () => {
    await store.close();
    await server.close();
    await chain.stop();
  });

  it('is stored with its beginning and its hash, in chain order, while backfilling and at the head', async () => {
    const reader = new JsonRpcChainReader(new ChainClient(Anvil.chainId, [chain.rpcUrl]));
    const term = { nothingInFlightBefore: true, leavesInFlight: false };
    const verification = { everyMs: 1, callMs: 0 };
    const timing = { confirmations: 2, pollMs: 10, pollMsMax: 10, verification };
    const followed = followSettings({ chainId: Anvil.chainId, isDevelopment: true, ...timing });
    const follow = following(followed, { eventStore: store, reader });
    const loop = new SupervisedLoop('follower', pino({ level: 'silent' }), (signal, reportRunning) =>
      follow(signal, reportRunning, term),
    );
    const caught = async (count: number) => {
      await eventually(
        async () => (await store.read(`chain-${String(Anvil.chainId)}-${contract}`)).length === count,
        10_000,
        `${String(count)} logs must be stored`,
      );
    };
    await store.append('watch-large', -1, [anEvent({ type: 'ContractRegistered', data: watch })]);
    await chain.mine([noted('before'), large, noted('beside')]);
    for (let block = 0; block < 4; block += 1) await chain.mine([noted(`final ${String(block)}`)]);
    loop.start();
    await caught(7);
    await chain.mine([large]);
    await chain.mine([noted('after')]);
    await caught(9);
    await loop.stop();
    reader.close();
    const events = (await store.read(`chain-${String(Anvil.chainId)}-${contract}`)) as (StoredEvent & ChainEvent)[];
    const shortened = {
      raw: {
        topics: [watch.topic0],
        data: large.data.slice(0, 2 + 2 * 1_024),
        bytes: 200_064,
        hash: keccak256(large.data),
      },
      error: expect.any(String),
    };
    const finals = Array.from({ length: 4 }, (_, block) => ({ text: `final ${String(block)}` }));
    const expected = [{ text: 'before' }, shortened, { text: 'beside' }, ...finals, shortened, { text: 'after' }];
    expect(events.map(({ data }) => data.Data)).toEqual(expected);
    expect(new Set(events.map(({ data }) => data.Origin))).toEqual(new Set(['backfill', 'live']));
  });
});
