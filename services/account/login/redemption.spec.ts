import { describe, expect, it } from '@jest/globals';
import type { SignatureEvent } from '../../../schemas/events/request-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { someMetadata } from '../../../shared/testing/event-builder.ts';
import { redeem, type Recorded, type Redeemable, type Wish } from './redemption.ts';

type State = Recorded | undefined;

const ticket: Redeemable<State, SignatureEvent> = {
  stream: 'signature-of-a-ticket',
  metadata: someMetadata,
  fold: {
    initial: undefined as State,
    evolve: (state, { data: { sessionId = '', linkTo } }, _time, eventId) =>
      state ?? { sessionId, eventId, ...(linkTo !== undefined && { linkTo }) },
  },
  use: (state, _nowMs, session) => (state ? [] : [{ type: 'SignatureUsed', data: { appId: 'app_1', ...session } }]),
  recorded: (state) => state,
  used: () => new Refusal('request_replayed', 'the ticket was used'),
};
const plain: Wish = {};
const plainOf = (userId: string): Wish => ({ userId });
const linkTo = (userId: string): Wish => ({ userId, linkTo: userId });

describe('a redemption', () => {
  const redeemable = () => {
    const transactor = new Transactor(new MemoryEventStore(), systemClock, systemIds);
    return async (wish: Wish, changes: Partial<typeof ticket> = {}) => {
      const { redemption } = await redeem(transactor, { ...ticket, ...changes }, wish);
      return redemption;
    };
  };
  const refused = expect.objectContaining({ code: 'request_replayed' });

  it.each<[string, Wish]>([
    ['a plain login', plain],
    ['a link', linkTo('usr_1')],
  ])('of %s that is repeated is the first one again, whose login can be completed', async (_, wish) => {
    const by = redeemable();
    const first = await by(wish);
    expect(first.sessionId).toMatch(/^ses_/);
    expect(first.linkTo).toBe(wish.linkTo);
    expect(await by(wish)).toMatchObject({ sessionId: first.sessionId, eventId: first.eventId });
    expect(first.used().code).toBe('request_replayed');
  });

  it.each<[string, Wish, string, Wish]>([
    ['a plain login', plain, 'links', linkTo('usr_1')],
    ['a plain login', plainOf('usr_1'), 'links to its user', linkTo('usr_1')],
    ['a link', linkTo('usr_1'), 'logs in', plain],
    ['a link', linkTo('usr_1'), 'logs in as another user', plainOf('usr_2')],
    ['a link', linkTo('usr_1'), 'links to another user', linkTo('usr_2')],
  ])('of %s (%j) is refused to whoever %s', async (_, first, __, second) => {
    const by = redeemable();
    await by(first);
    await expect(by(second)).rejects.toEqual(refused);
    expect((await by(first)).linkTo).toBe(first.linkTo);
  });

  it('of a link is completed by its user when the identity is that user’s by now', async () => {
    const by = redeemable();
    await by(linkTo('usr_1'));
    expect((await by(plainOf('usr_1'))).linkTo).toBe('usr_1');
  });

  it('of many at once for different users is that of one', async () => {
    const by = redeemable();
    const all = await Promise.allSettled(Array.from({ length: 20 }, (_, at) => by(linkTo(`usr_${String(at)}`))));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('is refused where it was used up for something else, and by the rules of what is redeemed', async () => {
    const by = redeemable();
    await expect(by(plain, { recorded: () => undefined })).rejects.toEqual(refused);
    const over = () => {
      throw new Refusal('challenge_unknown', 'it is over');
    };
    await expect(by(plain, { use: over })).rejects.toMatchObject({ code: 'challenge_unknown' });
  });
});
