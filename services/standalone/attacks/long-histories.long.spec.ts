import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DomainEvent } from '../../../shared/event-store/transactions/folded-streams.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, signIn, type SignedIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { isFullSize, sized } from '../../../shared/testing/sized.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { flood, requestText, sendUnread } from './attackers.ts';
import { describeAttack, expectOthersServed, ProgramUnderAttack } from './program-under-attack.ts';

const folder = temporaryFolder();
const size = sized({ small: { changes: 3_000, forMs: 4_000 }, full: { changes: 7_000, forMs: 60_000 } });
const CONNECTIONS = 20;
/** Longer than the longest limit of requests of a user counts. */
const LIMITED_MS = 120_000;

/** The profile changes that a user can make in a minute and a half. */
const longHistory = (userId: string): DomainEvent[] =>
  Array.from({ length: size.changes }, (_, change) => ({
    type: 'ProfileUpdated',
    data: { userId, changes: { avatar: `https://shop.example/${String(change).padStart(200, 'x')}` } },
  }));

describeAttack('a user with a long history', () => {
  let attacked: ProgramUnderAttack;
  let user: SignedIn;
  beforeAll(async () => {
    attacked = await ProgramUnderAttack.start(folder);
    user = await signIn(attacked.development);
    await attacked.append(`user-${user.userId}`, longHistory(user.userId));
    const path = `${attacked.development.accountUrl}/user/${user.userId}/history?type=ProfileUpdated&take=1000`;
    const isLong = async () => {
      const { body } = await call(path, { headers: user.bearer });
      return (body['items'] as unknown[] | undefined)?.length === 1_000;
    };
    await eventually(isLong, 30_000, 'the history must be projected');
    const text = requestText('GET', `/user/${user.userId}`, user.bearer);
    const { accountUrl } = attacked.development;
    const { forMs } = size;
    // Prints, to compare with, how long other clients wait while the same user sends as many cheap requests.
    if (isFullSize) await attacked.during(() => flood(accountUrl, { connections: CONNECTIONS, text, forMs }));
  });
  afterAll(() => attacked[Symbol.asyncDispose]());

  it.each([
    ['for the user as it was', () => `?asOf=${new Date(Date.now() - 1_000).toISOString()}`],
    ['for long pages', () => '/history?take=1000'],
    ['for events that there are not', () => '/history?take=1000&type=Nothing'],
    ['for exports', () => '/history/export'],
  ])('asks as fast as answers come %s, and holds up nobody else', async (_, path) => {
    const { accountUrl } = attacked.development;
    const asked = `/user/${user.userId}${path()}`;
    // Twenty long pages are read one after the other: on a busy machine the first of them may take longer than the flood.
    const isAnswered = async () => (await fetch(accountUrl + asked, { headers: user.bearer })).status === 200;
    await eventually(isAnswered, LIMITED_MS, 'the user must be answered once the limit of the last flood is over');
    const text = requestText('GET', asked, user.bearer);
    let answers: Record<string, number> = {};
    const cost = await attacked.during(async () => {
      answers = await flood(accountUrl, { connections: CONNECTIONS, text, forMs: size.forMs });
    });
    // A request that waits for the others longer than the deadline is answered 503.
    const expected = ['200', '429', '503'];
    expect(Object.keys(answers).filter((status) => !expected.includes(status))).toEqual([]);
    expectOthersServed(cost);
  });

  it('asks for many exports and reads none of them, and holds up nobody else', async () => {
    const text = requestText('GET', `/user/${user.userId}/history/export`, user.bearer);
    const { accountUrl } = attacked.development;
    const { forMs } = size;
    const cost = await attacked.during(() => sendUnread(accountUrl, { connections: 90, text, forMs }));
    expectOthersServed(cost);
  });
});
