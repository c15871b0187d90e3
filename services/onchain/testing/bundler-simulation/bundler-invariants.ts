import { executorStream, type ExecutorEvent } from '../../../../schemas/events/onchain/executor-events.ts';
import type { SponsorshipEvent } from '../../../../schemas/events/onchain/sponsorship-events.ts';
import { foldEvents } from '../../../../shared/event-store/transactions/folded-streams.ts';
import { sponsorshipFold, spendingOn } from '../../sponsorship/domain/sponsorship.ts';
import type { Transaction } from '../../transactions/domain/transaction.ts';
import type { OperationInclusion } from '../../chain/operations-chain.ts';
import type { BundlerSimulation } from './bundler-simulation.ts';
import { named } from '../simulated-chain/simulated-state.ts';

type Inclusions = ReadonlyMap<string, readonly OperationInclusion[]>;

/** Returns the invariants that a simulation violated, as sentences. */
export const violationsAfter = async (simulation: BundlerSimulation): Promise<string[]> => {
  const all = [ofSends(simulation), ofSponsorship(simulation), ofExecutors(simulation), ofEvents(simulation)];
  return (await Promise.all(all)).flat();
};

const ofSends = async (simulation: BundlerSimulation): Promise<string[]> => {
  const inclusions: Inclusions = Map.groupBy(simulation.chain.inclusions(), ({ userOpHash }) => userOpHash);
  const violations: string[] = [];
  for (const { ids } of simulation.sends) {
    const found = await Promise.all(ids.map((id) => simulation.transactionOf(id)));
    const signed = found.filter((transaction) => transaction !== undefined);
    const hashes = new Set(signed.map(({ submission }) => submission.userOpHash));
    const executed = [...hashes].reduce((sum, hash) => sum + (inclusions.get(hash)?.length ?? 0), 0);
    if (executed > 1) violations.push(`${ids.join(', ')}: executed ${String(executed)} times`);
    for (const transaction of signed) violations.push(...ofTransaction(transaction, inclusions));
    if (executed > 0 && signed.some(({ status }) => status === 'dropped'))
      violations.push(`${ids.join(', ')}: executed, and one of them was called dropped`);
  }
  return violations;
};

const ofTransaction = (
  { submission, status, block, isFinal, delayedBy }: Transaction,
  inclusions: Inclusions,
): string[] => {
  const { transactionId: id, userOpHash } = submission;
  const [inclusion] = inclusions.get(userOpHash) ?? [];
  const outcome = inclusion && (inclusion.success ? 'included' : 'reverted');
  const isSaidToBe = status === 'included' || status === 'reverted';
  return [
    ...(outcome !== undefined && status !== outcome ? [`${id}: ${outcome}, and called ${status}`] : []),
    ...(!inclusion && isSaidToBe ? [`${id}: not executed, and called ${status}`] : []),
    ...(inclusion && block?.hash !== inclusion.blockHash ? [`${id}: said to be in another block`] : []),
    ...(isFinal ? [] : [`${id}: ${status}, and never final (${delayedBy ?? 'no reason'})`]),
  ];
};

const ofSponsorship = async ({ chain, store, sponsorship, depositedWei }: BundlerSimulation): Promise<string[]> => {
  const { chainId, paymaster } = chain.options;
  const sponsored = foldEvents(sponsorshipFold, sponsorshipFold.initial, await store.read(sponsorship));
  const { reservedWei, settledWei } = spendingOn(sponsored, chainId);
  const lostWei = depositedWei - chain.state.get(named.deposit(paymaster.address));
  return [
    ...(settledWei === lostWei ? [] : [`settled ${String(settledWei)}, and the deposit lost ${String(lostWei)}`]),
    ...(reservedWei === 0n ? [] : [`${String(reservedWei)} are reserved when all is final`]),
  ];
};

const ofExecutors = async ({ chain, store, firstNonces }: BundlerSimulation): Promise<string[]> => {
  const violations: string[] = [];
  for (const [executor, first] of firstNonces) {
    const events = await store.read(executorStream(chain.options.chainId, executor));
    const signed = events.reduce<{ nonce: number }[]>((all, { type, data }) => {
      if (type === 'BundleSigned') return [...all, data as { nonce: number }];
      return type === 'BundleWithdrawn' ? all.slice(0, -1) : all;
    }, []);
    const others = chain.strangers.usedNonces.get(executor) ?? 0;
    const lost = events.filter(({ type }) => type === 'BundleLost').length;
    const [used, mined] = [chain.countOf(executor) - first, signed.length - lost];
    const follows = (nonce: number, at: number) => nonce - (signed[at - 1]?.nonce ?? first - 1);
    const skipped = signed.reduce((sum, { nonce }, at) => sum + follows(nonce, at) - 1, 0);
    if (signed.some(({ nonce }, at) => follows(nonce, at) < 1)) violations.push(`${executor}: a nonce was used twice`);
    if (skipped > others - lost) violations.push(`${executor}: a nonce was skipped`);
    if (used !== mined + others)
      violations.push(
        `${executor}: ${String(mined)} bundles, ${String(others)} of others, ${String(used)} nonces used`,
      );
  }
  return violations;
};

/** Checks each event in order, for violations that later events may hide. */
const ofEvents = async ({ store }: BundlerSimulation): Promise<string[]> => {
  const { events } = await store.readAll(0, undefined, Infinity);
  const known = events as unknown as (ExecutorEvent | SponsorshipEvent)[];
  const released = new Set<string>();
  /** By executor and nonce: the operations of pending bundles. */
  const underWay = new Map<string, readonly string[]>();
  const bundles = new Map<string, readonly string[]>();
  return known.flatMap((event) => {
    const { type, data } = event;
    switch (type) {
      case 'SponsorshipReserved':
        released.delete(slotOf(data));
        return [];
      case 'SponsorshipReleased':
        released.add(slotOf(data));
        return [];
      case 'SponsorshipSettled':
        return released.has(slotOf(data)) ? [`${data.userOpHash}: settled after it was released`] : [];
      case 'BundleSigned': {
        const inOthers = new Set([...underWay.values()].flat());
        bundles.set(bundleOf(data), data.operations);
        underWay.set(bundleOf(data), data.operations);
        return data.operations.filter((id) => inOthers.has(id)).map((id) => `${id}: in two bundles at once`);
      }
      case 'BundleReorged':
        underWay.set(bundleOf(data), bundles.get(bundleOf(data)) ?? []);
        return [];
      case 'BundleMined':
      case 'BundleFinalized':
      case 'BundleLost':
      case 'BundleWithdrawn':
        underWay.delete(bundleOf(data));
        return [];
      default:
        return [];
    }
  });
};

const slotOf = ({ sender, nonce }: { sender: string; nonce: string }): string => `${sender} ${nonce}`;
const bundleOf = ({ executor, nonce }: { executor: string; nonce: number }): string => `${executor} ${String(nonce)}`;
