import type { Refusal } from '../../../shared/errors/refusal.ts';
import type { DomainEvent } from '../../../shared/event-store/transactions/folded-streams.ts';
import type { Transaction, Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { sessionIdFrom } from '../sessions/domain/session.ts';

/** What somebody who logs in wants besides a session. */
export interface Wish {
  /** The user to whom it links the identity; absent of a plain login. */
  linkTo?: string;
  /** The user of the bearer token, if there is one. */
  userId?: string;
}

/** What was recorded when a challenge, password, code or state was used up. */
export interface Recorded {
  sessionId: string;
  /** The id of that event. */
  eventId: string;
  linkTo?: string;
}

/** What one login uses up: a challenge, a password, a code, a state. */
export interface Redeemable<State, Event extends DomainEvent> extends Omit<Transaction<State, Event>, 'decide'> {
  /** Returns the event that uses it up for this session; `[]` where it is used up already. */
  use: (state: State, nowMs: number, redemption: Pick<Recorded, 'sessionId' | 'linkTo'>) => readonly Event[];
  /** Returns what was recorded; `undefined` where it was used up for something else. */
  recorded: (state: State) => Recorded | undefined;
  /** The refusal of what is used up already. */
  used: (state: State) => Refusal;
}

/** The right to complete one login, from the moment its proof was used up. A repeated request gets the same one. */
class Redemption implements Recorded {
  readonly sessionId: string;
  readonly eventId: string;
  readonly linkTo?: string;
  /** Makes the type nominal: only `redeem` makes a redemption. */
  protected readonly isCompared = true;

  constructor(
    { sessionId, eventId, linkTo }: Recorded,
    /** The refusal once the session has started. */
    readonly used: () => Refusal,
  ) {
    this.sessionId = sessionId;
    this.eventId = eventId;
    if (linkTo !== undefined) this.linkTo = linkTo;
  }
}
export type { Redemption };

/**
 * Uses something up for one session, or finds the redemption of an earlier request that a crash may have interrupted.
 * A repeated redemption must want the same: a plain login, or the link to the same user. Otherwise whoever repeats somebody
 * else's request would enter, or link, that person's account.
 * @throws Refusal those of `use`; `used` where an earlier redemption wanted something else
 */
export const redeem = async <State, Event extends DomainEvent>(
  transactor: Transactor,
  { use, recorded, used, ...transaction }: Redeemable<State, Event>,
  wish: Wish,
): Promise<{ redemption: Redemption; state: State }> => {
  const { linkTo } = wish;
  const redemption = {
    sessionId: sessionIdFrom(transactor.ids.token(26)),
    ...(linkTo !== undefined && { linkTo }),
  };
  const { state } = await transactor.transact({
    ...transaction,
    decide: (before, nowMs) => use(before, nowMs, redemption),
  });
  const found = recorded(state);
  if (!found || !isSame(found, wish)) throw used(state);
  return { redemption: new Redemption(found, () => used(state)), state };
};

/**
 * Once a link has claimed the identity, the same request of its user is a plain login, because the identity is that user's. So a
 * link that a crash interrupted there is the same to its user.
 */
const isSame = ({ linkTo }: Recorded, wish: Wish): boolean =>
  linkTo === wish.linkTo || (linkTo !== undefined && linkTo === wish.userId);
