import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SqliteEventStore } from '../../../shared/event-store/embedded/event-store.sqlite.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { Sponsorships } from './sponsorships.ts';

const file = join(temporaryFolder(), 'events.db');
const ENTRY_POINT = '0x0000000071727De22E5E9d8BAf0edAc6f37da032';
const SENDER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

describe('sponsorships of two processes on one store', () => {
  it('let exactly five of two hundred at once pass where the day allows five', async () => {
    const stores = [new SqliteEventStore(file), new SqliteEventStore(file)];
    const processes = stores.map((store) => new Sponsorships(new Transactor(store, systemClock, systemIds)));
    const reserve = (sponsorships: Sponsorships, nonce: number) =>
      sponsorships.reserve({
        appId: 'app_1',
        signature: {
          ...{
            transactionId: `tx_${String(nonce)}`,
            userOpHash: `0x${String(nonce).padStart(64, '0')}`,
            userId: 'usr_1',
          },
          ...{ chainId: 1, sender: SENDER, nonce: BigInt(nonce), maxCostWei: 100n, headBlock: 1 },
          validUntilMs: systemClock.now() + 600_000,
        },
        policy: { dayWei: '599', userDayWei: null },
        deposit: { wei: 1_000_000n, reservedWei: 0n },
        entryPoint: ENTRY_POINT,
      });
    const outcomes = await Promise.allSettled(
      processes.flatMap((one, process) => Array.from({ length: 100 }, (_, at) => reserve(one, process * 100 + at))),
    );
    const passed = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    expect(passed).toHaveLength(5);
    expect(await stores[0]?.read(passed[0]?.value.stream ?? '')).toHaveLength(5);
    await Promise.all(stores.map((store) => store.close()));
  });
});
