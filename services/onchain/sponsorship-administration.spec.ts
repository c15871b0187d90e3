import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { Transactor } from '../../shared/event-store/transactions/transact.ts';
import { Sponsorships } from './sponsorship/sponsorships.ts';
import { startAccountUnderTest } from '../account/testing/account-under-test.ethers.ts';
import { readSponsorship } from './sponsorship-administration.ts';

const folder = temporaryFolder();
const ENTRY_POINT = '0x0000000071727De22E5E9d8BAf0edAc6f37da032';
const SENDER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const hashOf = (number: number) => `0x${String(number).padStart(64, '0')}`;

describe('the sponsorship of a day', () => {
  it('says what is reserved and settled on each chain, beside the limits', async () => {
    const { service, foundation, apps, clock, register } = await startAccountUnderTest(folder);
    const { id: appId } = await register();
    const policy = { dayWei: '1000', userDayWei: null, operationWei: null, allow: [], anySession: false };
    await apps.change(appId, { chainId: 5, policy });
    const sponsorships = new Sponsorships(new Transactor(foundation.eventStore, clock, foundation.ids));
    const reserve = async (chainId: number, nonce: number, maxCostWei: bigint) => {
      const slot = { chainId, sender: SENDER, nonce: BigInt(nonce), userOpHash: hashOf(nonce) };
      const validUntilMs = clock.now() + 600_000;
      const signature = { ...slot, transactionId: null, userId: 'usr_1', maxCostWei, validUntilMs, headBlock: 1 };
      const deposit = { wei: 10_000n, reservedWei: 0n };
      return {
        ...slot,
        ...(await sponsorships.reserve({ appId, signature, policy, deposit, entryPoint: ENTRY_POINT })),
      };
    };
    await reserve(2484, 1, 100n);
    const { stream, ...operation } = await reserve(2484, 2, 200n);
    await sponsorships.settle(stream, { ...operation, costWei: 150n, blockHash: hashOf(9), blockNumber: 9 });
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    expect(await readSponsorship(foundation, appId)).toEqual({
      appId,
      day,
      chains: [
        { chainId: 5, dayWei: '1000', reserved: '0', settled: '0', operations: 0 },
        { chainId: 2484, dayWei: null, reserved: '100', settled: '150', operations: 2 },
      ],
    });
    expect((await readSponsorship(foundation, appId, '2001-01-01')).chains).toHaveLength(1);
    await service.close();
  });
});
