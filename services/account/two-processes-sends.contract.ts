import { expect, it } from '@jest/globals';
import { noncesStream } from '../../schemas/events/onchain/nonce-events.ts';
import { sponsorshipStream } from '../../schemas/events/onchain/sponsorship-events.ts';
import { transactionStream } from '../../schemas/events/onchain/transaction-events.ts';
import type { SentTransaction } from '../../schemas/http/onchain/onchain-routes.ts';
import type { Problem } from '../../schemas/http/problem.ts';
import { AnnalsError, type AnnalsClient } from '../../shared/client/annals-client.ts';
import { foldEvents } from '../../shared/event-store/transactions/folded-streams.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import { Anvil } from '../../shared/testing/chain/anvil.ts';
import { atOnce } from '../../shared/testing/at-once.ts';
import { eventually } from '../../shared/testing/eventually.ts';
import { randomWallet } from '../../shared/testing/http/random-wallet.ethers.ts';
import { appAdministration } from './app-administration.ts';
import { spendingOn, sponsorshipFold } from '../onchain/sponsorship/domain/sponsorship.ts';
import { utcDay } from '../onchain/sponsorship/sponsorships.ts';

const SENDS = 200;
const COVERED = 5;
const USERS = 8;
const HAPPENS_WITHIN_MS = 60_000;
const { chainId } = Anvil;
const NOBODY = '0x00000000000000000000000000000000000b0d1e';

interface Processes {
  anvil: Anvil;
  /** Engines with the processes' data. */
  foundation: Foundation & WithKeyVault;
  /** Of an app, a client at each process. */
  clients: () => Promise<readonly [AnnalsClient, AnnalsClient]>;
}

/** A user with an account that is deployed, at both processes. */
type Sender = readonly [AnnalsClient, AnnalsClient];

/** What two account processes must do when much is sent on a chain that both serve. */
export const twoProcessesSendsContract = (processes: () => Processes): void => {
  const send = (client: AnnalsClient, appApiKey: string, idempotencyKey: string): Promise<SentTransaction> => {
    const body = { chainId, sponsor: true, transactionReq: { to: NOBODY }, appApiKey };
    return client.routes.sendTransaction({ body, idempotencyKey });
  };
  /** As a client does that was told that the service is busy. */
  const outcomeOf = (send: () => Promise<SentTransaction>): Promise<SentTransaction | Problem> =>
    eventually(
      async () => {
        try {
          return await send();
        } catch (error) {
          if (!(error instanceof AnnalsError) || !error.problem) throw error;
          return error.code !== 'dependency_unavailable' && error.problem;
        }
      },
      HAPPENS_WITHIN_MS,
      'a send must be answered',
    );
  const typesOf = async (stream: string) =>
    (await processes().foundation.eventStore.read(stream)).map(({ type }) => type);
  /** An app that pays for whoever names it, up to so much a day. */
  const payingApp = async (dayWei: bigint | null) => {
    const apps = appAdministration(processes().foundation);
    const app = { name: 'Payer', origins: ['https://payer.example'], redirectUris: [], scheme: 'v1' as const };
    const { id, apiKey } = await apps.register(app);
    const limits = { dayWei: dayWei === null ? null : String(dayWei), userDayWei: null, operationWei: null };
    await apps.change(id, { chainId, policy: { ...limits, allow: [], anySession: true } });
    return { id, apiKey };
  };
  const isIncluded = ({ id }: SentTransaction) =>
    eventually(
      async () => (await typesOf(transactionStream(id))).includes('TxIncluded'),
      HAPPENS_WITHIN_MS,
      'it must be included',
    );

  /** What a send may cost, once fees are made of the newest block's at both processes, which keep it for a moment. */
  const costAtHead = (sender: Sender, appApiKey: string): Promise<bigint> =>
    eventually(
      async () => {
        const body = { chainId, sponsor: true, transactionReq: { to: NOBODY }, appApiKey };
        const estimates = await Promise.all(sender.map((client) => client.routes.estimateGas({ body })));
        const block = (await processes().anvil.call('eth_getBlockByNumber', 'latest', false)) as {
          baseFeePerGas: string;
        };
        const isAtHead = estimates.every(
          ({ maxFeePerGas, maxPriorityFeePerGas }) =>
            BigInt(maxFeePerGas) - BigInt(maxPriorityFeePerGas) === 2n * BigInt(block.baseFeePerGas),
        );
        return isAtHead && BigInt(estimates[0]?.maxCost ?? 0);
      },
      HAPPENS_WITHIN_MS,
      'fees must follow the newest block',
    );

  it('let an app pay for as many of 200 parallel sends as its policy covers', async () => {
    const { anvil, clients, foundation } = processes();
    const generous = await payingApp(null);
    const senders = await Promise.all(
      Array.from({ length: USERS }, async (): Promise<{ sender: Sender; address: string }> => {
        const [first, second] = await clients();
        const wallet = randomWallet();
        await first.login.wallet(wallet);
        await second.login.wallet(wallet);
        const sent = await send(first, generous.apiKey, 'deploys');
        await isIncluded(sent);
        return { sender: [first, second], address: sent.sender };
      }),
    );
    // With what is settled there would be room again.
    await anvil.call('evm_setAutomine', false);
    const [one] = senders;
    if (!one) throw new Error('there are no users');
    // A nonce key that is used again costs less, but not by a sixth: another one never fits.
    const dayWei = BigInt(COVERED) * (await costAtHead(one.sender, generous.apiKey));
    const { id, apiKey } = await payingApp(dayWei);
    const outcomes = await atOnce(SENDS, (at) => {
      const client = senders[at % USERS]?.sender[at % 2 === 0 ? 0 : 1] ?? one.sender[0];
      return outcomeOf(() => send(client, apiKey, `send-${String(at)}`));
    });
    const sent = outcomes.filter((outcome) => 'userOpHash' in outcome);
    expect(sent).toHaveLength(COVERED);
    const refused = outcomes.filter((outcome) => 'code' in outcome);
    expect(refused).toHaveLength(SENDS - COVERED);
    for (const problem of refused) {
      expect(problem).toMatchObject({ status: 403, code: 'sponsorship_refused', rule: 'day' });
    }
    const stream = sponsorshipStream(id, utcDay(foundation.clock.now()));
    const spent = foldEvents(sponsorshipFold, sponsorshipFold.initial, await foundation.eventStore.read(stream));
    const { operations, reservedWei } = spendingOn(spent, chainId);
    expect(operations).toBe(COVERED);
    expect(reservedWei).toBeLessThanOrEqual(dayWei);
    const assigned = (await Promise.all(senders.map(({ address }) => typesOf(noncesStream(chainId, address))))).flat();
    const count = (type: string) => assigned.filter((one) => one === type).length;
    expect(count('NonceAssigned') - count('NonceReleased')).toBe(USERS + COVERED);
    await anvil.call('evm_setAutomine', true);
    await anvil.call('anvil_mine', '0x1');
    for (const transaction of sent) await isIncluded(transaction);
  });
};
