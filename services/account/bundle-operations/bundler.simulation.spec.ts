import { describe, expect, it } from '@jest/globals';
import { executorStream } from '../../../schemas/events/executor-events.ts';
import { foldEvents } from '../../../shared/event-store/folded-streams.ts';
import { sponsorshipFold, spendingOn } from '../domain/sponsorship.ts';
import type { Transaction } from '../domain/transaction.ts';
import { BundlerSimulation } from '../testing/bundler-simulation.ts';
import { named } from '../testing/simulated-state.ts';

/** `SEED=17` runs that one alone, `SEEDS=2000` as many. */
const [SEED, SEEDS] = [process.env['SEED'], Number(process.env['SEEDS'] ?? 100)];
const seeds = SEED === undefined ? Array.from({ length: SEEDS }, (_, index) => index + 1) : [Number(SEED)];
/** Of one seed, on a busy machine. */
const PATIENCE_MS = 2_000;

const faultsOfSends = async (simulation: BundlerSimulation): Promise<string[]> => {
  const inclusions = simulation.chain.inclusions();
  const faults: string[] = [];
  for (const { ids } of simulation.sends) {
    const found = await Promise.all(ids.map((id) => simulation.transactionOf(id)));
    const signed = found.filter((one) => one !== undefined);
    const hashes = new Set(signed.map(({ submission }) => submission.userOpHash));
    const executed = inclusions.filter(({ userOpHash }) => hashes.has(userOpHash)).length;
    if (executed > 1) faults.push(`${ids.join(', ')}: executed ${String(executed)} times`);
    for (const transaction of signed) faults.push(...faultsOf(transaction, simulation));
    for (const { submission, status, isFinal, delayedBy } of signed) {
      if (!isFinal)
        faults.push(`${submission.transactionId}: ${status}, and never final (${delayedBy ?? 'no reason'})`);
    }
    if (executed > 0 && signed.some(({ status }) => status === 'dropped'))
      faults.push(`${ids.join(', ')}: executed, and one of them was called dropped`);
  }
  return faults;
};

const faultsOf = ({ submission, status, block }: Transaction, { chain }: BundlerSimulation) => {
  const { transactionId: id, userOpHash } = submission;
  const inclusion = chain.inclusions().find((one) => one.userOpHash === userOpHash);
  const outcome = inclusion && (inclusion.success ? 'included' : 'reverted');
  const isSaidToBe = status === 'included' || status === 'reverted';
  return [
    ...(outcome !== undefined && status !== outcome ? [`${id}: ${outcome}, and called ${status}`] : []),
    ...(!inclusion && isSaidToBe ? [`${id}: not executed, and called ${status}`] : []),
    ...(inclusion && block?.hash !== inclusion.blockHash ? [`${id}: said to be in another block`] : []),
  ];
};

const faultsOfSponsorship = async ({ chain, store, sponsorship, depositedWei }: BundlerSimulation) => {
  const { chainId, paymaster } = chain.options;
  const sponsored = foldEvents(sponsorshipFold, sponsorshipFold.initial, await store.read(sponsorship));
  const { reservedWei, settledWei } = spendingOn(sponsored, chainId);
  const lostWei = depositedWei - chain.state.get(named.deposit(paymaster.address));
  return [
    ...(settledWei === lostWei ? [] : [`settled ${String(settledWei)}, and the deposit lost ${String(lostWei)}`]),
    ...(reservedWei === 0n ? [] : [`${String(reservedWei)} are reserved when all is final`]),
  ];
};

const faultsOfExecutors = async ({ chain, store, executors }: BundlerSimulation) => {
  const faults: string[] = [];
  for (const executor of executors) {
    const events = await store.read(executorStream(chain.options.chainId, executor));
    const signed = events.filter(({ type }) => type === 'BundleSigned').map(({ data }) => data as { nonce: number });
    const used = chain.countOf(executor);
    if (signed.some(({ nonce }, at) => nonce !== at)) faults.push(`${executor}: a nonce was skipped`);
    if (used !== signed.length)
      faults.push(`${executor}: ${String(signed.length)} bundles, ${String(used)} nonces used`);
  }
  return faults;
};

/** Returns what is not so after a simulation, as sentences. */
const faultsAfter = async (seed: number): Promise<string[]> => {
  const simulation = new BundlerSimulation(seed);
  try {
    await simulation.run();
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
  const all = [faultsOfSends(simulation), faultsOfSponsorship(simulation), faultsOfExecutors(simulation)];
  return (await Promise.all(all)).flat();
};

describe('a bundler on a chain of which anything may happen', () => {
  it(
    'executes each operation at most once, says of each what became of it, and accounts for every wei and nonce',
    async () => {
      const failed: string[] = [];
      for (const seed of seeds) {
        const faults = await faultsAfter(seed);
        const again = `SEED=${String(seed)} npm test -- bundler.simulation`;
        if (faults.length > 0) failed.push(`${again}\n  ${faults.join('\n  ')}`);
      }
      expect(failed.join('\n')).toBe('');
    },
    seeds.length * PATIENCE_MS,
  );
});
