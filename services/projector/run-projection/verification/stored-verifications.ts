import { toIso, type Clock } from '../../../../shared/primitives/clock.ts';
import {
  verificationDocument,
  verifications,
  type Verification,
} from '../../../../shared/read-models/verifications.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import type { VerifiedModel } from './verify-model.ts';

/** Returns what the newest comparison of each version of a read model found, by the version's stored name. */
export const storedVerifications = async (
  readStore: Pick<ReadStore, 'find'>,
): Promise<ReadonlyMap<string, Verification>> => {
  const stored = await readStore.find(verifications.name, {});
  return new Map(stored.map(({ id, document }) => [id, verificationDocument.parse(document)]));
};

/** Replaces what the comparison before found. Of two that end at the same moment, either is kept. */
export const storeVerification = async (
  { name, position, compared, differences }: VerifiedModel,
  { readStore, clock }: { readStore: Pick<ReadStore, 'getMany' | 'correct'>; clock: Clock },
): Promise<void> => {
  const before = (await readStore.getMany(verifications.name, [name])).get(name);
  const document: Verification = { verifiedAt: toIso(clock.now()), compared, differences: differences.length };
  const correct = { id: name, position, document };
  await readStore.correct(verifications.name, [{ id: name, expected: before?.position, correct }]);
};
