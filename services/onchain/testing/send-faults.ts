import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { foldEvents } from '../../../shared/event-store/transactions/folded-streams.ts';
import { executorFold } from '../bundler/domain/executor.ts';
import { spendingOn, sponsorshipFold } from '../sponsorship/domain/sponsorship.ts';
import { transactionFold, type Transaction } from '../transactions/domain/transaction.ts';
import type { OperationInclusion, OperationsChain } from '../chain/operations-chain.ts';

interface Sends {
  events: readonly StoredEvent[];
  chain: Pick<OperationsChain, 'chainId' | 'inclusions' | 'head' | 'transactionCount'>;
  /** The loss of the paymaster's deposit. */
  lostWei: bigint;
}

/**
 * Compares the stored events with the chain, once all transactions are final.
 * @returns violations, as sentences. Each send must be executed once, the deposit must have lost what was settled, nothing may be
 * reserved, and no nonce of an executor may be skipped.
 */
export const sendFaults = async ({ events, chain, lostWei }: Sends): Promise<string[]> => {
  const streams = Map.groupBy(events, ({ stream }) => stream);
  const ofKind = (kind: string) => [...streams].filter(([stream]) => stream.startsWith(`${kind}-`));
  const { number: head } = await chain.head();
  const inclusions = await chain.inclusions(0, head);
  const transactions = ofKind('transaction').flatMap(
    ([, all]) => foldEvents(transactionFold, transactionFold.initial, all) ?? [],
  );
  const spending = ofKind('sponsorship').map(([, all]) =>
    spendingOn(foldEvents(sponsorshipFold, sponsorshipFold.initial, all), chain.chainId),
  );
  const sum = (member: 'settledWei' | 'reservedWei') => spending.reduce((total, each) => total + each[member], 0n);
  const money = sum('settledWei') === lostWei && sum('reservedWei') === 0n;
  const executors = ofKind('executor').map(([stream, all]) => executorFaults(chain, stream, all));
  return [
    ...executionFaults(transactions, inclusions),
    ...(money
      ? []
      : [`settled ${String(sum('settledWei'))}, reserved ${String(sum('reservedWei'))}, lost ${String(lostWei)}`]),
    ...(await Promise.all(executors)).flat(),
  ];
};

const executionFaults = (transactions: readonly Transaction[], inclusions: readonly OperationInclusion[]): string[] => {
  const byHash = Map.groupBy(inclusions, ({ userOpHash }) => userOpHash);
  const bySend = Map.groupBy(
    transactions,
    (transaction) => firstOf(transaction, transactions).submission.transactionId,
  );
  const times = [...bySend].flatMap(([id, versions]) => {
    const executed = versions.flatMap(({ submission }) => byHash.get(submission.userOpHash) ?? []);
    return executed.length === 1 ? [] : [`${id}: executed ${String(executed.length)} times`];
  });
  const states = transactions.flatMap(({ submission: { transactionId, userOpHash }, status, isFinal, block }) => {
    const [included] = byHash.get(userOpHash) ?? [];
    const expected = included ? (included.success ? 'included' : 'reverted') : 'replaced';
    const isThere = !included || block?.hash === included.blockHash;
    return status === expected && isFinal && isThere
      ? []
      : [`${transactionId}: ${status}${isFinal ? '' : ', not final'}, and on the chain ${expected}`];
  });
  return [...times, ...states];
};

const firstOf = (transaction: Transaction, all: readonly Transaction[]): Transaction => {
  const { replaces } = transaction.submission;
  const before = all.find(({ submission }) => submission.transactionId === replaces);
  return before ? firstOf(before, all) : transaction;
};

const executorFaults = async (
  chain: Sends['chain'],
  stream: string,
  events: readonly StoredEvent[],
): Promise<string[]> => {
  // The nonce of a withdrawn bundle is free again.
  const signed = events.reduce<readonly StoredEvent[]>((all, event) => {
    if (event.type === 'BundleWithdrawn') return all.slice(0, -1);
    return event.type === 'BundleSigned' ? [...all, event] : all;
  }, []);
  const nonces = signed.map(({ data }) => Number(data['nonce']));
  const [first] = signed;
  if (!first) return [];
  const used = await chain.transactionCount(first.data['executor'] as string, (await chain.head()).number);
  const { bundles } = foldEvents(executorFold, executorFold.initial, events as never);
  const isGapless = nonces.every((nonce, at) => nonce === at) && used === nonces.length && bundles.length === 0;
  return isGapless
    ? []
    : [`${stream}: nonces ${nonces.join(' ')}, ${String(used)} used, ${String(bundles.length)} open`];
};
