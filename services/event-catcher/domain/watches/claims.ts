import type { QuotaEvent } from '../../../../schemas/events/event-catcher/quota-events.ts';
import type { QuotaName } from '../../../../schemas/http/event-catcher/quotas.ts';
import { claimantText } from '../../../../shared/chain/identifiers/claimant.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';

/** A claim on a watch, as quotas count it. */
export type Claim = QuotaEvent['data'];

export const userQuotaStream = (userId: string): string => `quota-user-${userId}`;
export const appQuotaStream = (appId: string): string => `quota-app-${appId}`;

/** The claims that count for a user or an app. */
type State = Readonly<Record<string, Claim & { sinceMs: number }>>;

const keyOf = ({ watchId, ...claimant }: Claim): string => `${claimantText(claimant)}/${watchId}`;

export const claimsFold = {
  initial: {} as State,
  evolve: (claims: State, { type, data }: QuotaEvent, time: number): State => {
    const { [keyOf(data)]: _same, ...others } = claims;
    return type === 'QuotaTaken' ? { ...others, [keyOf(data)]: { ...data, sinceMs: time } } : others;
  },
};

/**
 * Counts a claim, unless it counts already. An app's own claims and those of its users are counted apart, so that users
 * cannot exhaust the app's quota.
 * @throws Refusal quota_exceeded
 */
export const takeQuota = (
  claims: State,
  claim: Claim,
  { rule, most }: { rule: QuotaName; most: number },
): QuotaEvent[] => {
  if (Object.hasOwn(claims, keyOf(claim))) return [];
  const counted = Object.values(claims).filter((other) => rule !== 'appWatches' || isOfApp(other) === isOfApp(claim));
  if (counted.length >= most) {
    const whose = rule === 'userWatches' ? 'a user' : isOfApp(claim) ? 'an app' : 'all users of an app together';
    const detail = `no more than ${String(most)} registrations are allowed to ${whose}: remove one first`;
    throw new Refusal('quota_exceeded', detail, { members: { rule } });
  }
  return [{ type: 'QuotaTaken', data: claim }];
};

const isOfApp = ({ userId }: Claim): boolean => userId === null;

export const returnQuota = (claims: State, claim: Claim): QuotaEvent[] =>
  Object.hasOwn(claims, keyOf(claim)) ? [{ type: 'QuotaReturned', data: claim }] : [];
