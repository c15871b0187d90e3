/**
 * Every quota, by its name in the setting `QUOTAS`, which may replace any of them, and as the `rule` of `quota_exceeded`. The
 * operator's command line is not bound by them.
 */
export const quotas = {
  /** How many claims on watches one user may have, in all apps together. */
  userWatches: 100,
  /** How many claims on watches one app may have, and, counted apart from these, its users together. */
  appWatches: 10_000,
  /** How many records and blocks the backfill of one registration may have. */
  backfillRecords: 10_000_000,
  backfillBlocks: 5_000_000,
};
export type QuotaName = keyof typeof quotas;

/** Returns how much a quota allows. @param QUOTAS those that the setting replaces */
export const quotaOf = ({ QUOTAS }: { QUOTAS: Partial<Record<QuotaName, number>> }, name: QuotaName): number =>
  QUOTAS[name] ?? quotas[name];
