import type { QuotaEvent } from '../../../schemas/events/quota-events.ts';
import type { QuotaName } from '../../../schemas/http/quotas.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';

/** An app claims a watch, because a user registered it. */
export type Claim = QuotaEvent['data'];

export const userQuotaStream = (userId: string): string => `quota-user-${userId}`;
export const appQuotaStream = (appId: string): string => `quota-app-${appId}`;

/** The claims that count for a user or an app. */
type State = Readonly<Record<string, Claim & { sinceMs: number }>>;

const keyOf = ({ appId, watchId }: Claim): string => `${appId}/${watchId}`;

export const claimsFold = {
  initial: {} as State,
  evolve: (claims: State, { type, data }: QuotaEvent, time: number): State => {
    const { [keyOf(data)]: _same, ...others } = claims;
    return type === 'QuotaTaken' ? { ...others, [keyOf(data)]: { ...data, sinceMs: time } } : others;
  },
};

/** The claim counts from now on, unless it counts already. @throws Refusal quota_exceeded */
export const takeQuota = (
  claims: State,
  claim: Claim,
  { rule, most }: { rule: QuotaName; most: number },
): QuotaEvent[] => {
  if (Object.hasOwn(claims, keyOf(claim))) return [];
  if (Object.keys(claims).length >= most) {
    const detail = `no more than ${String(most)} registrations are allowed: remove one first`;
    throw new Refusal('quota_exceeded', detail, { members: { rule } });
  }
  return [{ type: 'QuotaTaken', data: claim }];
};

export const returnQuota = (claims: State, claim: Claim): QuotaEvent[] =>
  Object.hasOwn(claims, keyOf(claim)) ? [{ type: 'QuotaReturned', data: claim }] : [];

/** The claim of an app on a watch, as it counts; `undefined` if it does not. */
export const countedClaim = (claims: State, claim: Pick<Claim, 'appId' | 'watchId'>): Claim | undefined => {
  const found = claims[keyOf({ ...claim, userId: '' })];
  return found && { watchId: found.watchId, appId: found.appId, userId: found.userId };
};
