import { describe, expect, it } from '@jest/globals';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { aRecord } from '../testing/fake-catcher.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';

type Stream = Awaited<ReturnType<typeof streamUnderTest>>;
const TOKEN_SECONDS = 600;
const HOUR_MS = 3_600_000;

const withClock = async () => {
  const clock = new TestClock(Date.now());
  const stream = await streamUnderTest({ clock });
  const exp = () => Math.floor(clock.time / 1_000) + TOKEN_SECONDS;
  return { clock, stream, exp };
};

describe('the expiry of a token', () => {
  it('is announced a minute before, and disconnects after a grace period of 25 s', async () => {
    const { clock, stream, exp } = await withClock();
    await using _ = stream;
    const contractAddress = await stream.registerContract();
    const end = exp();
    const client = await stream.connect({ exp: end });
    const { subscriptionId } = await client.subscribe(contractAddress);
    clock.time = end * 1_000 - 60_000;
    expect(await client.waitForMessage('expiring')).toEqual({ expiresAt: new Date(end * 1_000).toISOString() });
    clock.time = end * 1_000 + 24_900;
    await stream.catcher.observe(aRecord({ contractAddress, block: 1 }));
    await client.waitForEvents(1);
    clock.time = end * 1_000 + 25_000;
    expect(await client.waitForMessage('stopped')).toEqual({ subscriptionId, code: 'token_expired' });
    expect(await client.waitForDisconnect()).toBe('io server disconnect');
    // With the clock so far ahead, the event catcher may count as silent until it announces itself again.
    const names = client.messages.map(({ name }) => name).filter((name) => name !== 'state');
    expect(names).toEqual(['expiring', 'event', 'stopped']);
  });

  it('is postponed by a new token of the same user, any number of times', async () => {
    const { clock, stream, exp } = await withClock();
    await using _ = stream;
    const client = await stream.connect({ exp: exp() });
    for (let times = 1; times <= 3; times += 1) {
      clock.time += (TOKEN_SECONDS - 30) * 1_000;
      const next = exp();
      const token = await stream.tokens.accessToken({ claims: { exp: next } });
      expect(await client.request('refresh', { token })).toEqual({
        ok: true,
        expiresAt: new Date(next * 1_000).toISOString(),
      });
    }
    clock.time += (TOKEN_SECONDS - 60) * 1_000;
    await client.waitForMessage('expiring');
  });

  it("is not postponed by an invalid token, or another user's", async () => {
    await using stream = await streamUnderTest();
    const client = await stream.connect();
    const refresh = async (claims: Record<string, string | number>) =>
      (await client.refused('refresh', { token: await stream.tokens.accessToken({ claims }) })).code;
    await stream.revokeSession('ses_ended');
    expect(await refresh({ sub: 'usr_2' })).toBe('forbidden');
    expect(await refresh({ sid: 'ses_ended' })).toBe('session_revoked');
    expect(await refresh({ exp: 1_000 })).toBe('token_expired');
    expect((await client.refused('refresh', { token: 'x' })).code).toBe('token_invalid');
  });
});

describe('the revocation', () => {
  it.each<[of: string, code: string, other: Record<string, string>, revoke: (stream: Stream) => Promise<void>]>([
    ['a session', 'session_revoked', { sid: 'ses_2' }, (stream) => stream.revokeSession('ses_1')],
    [
      'a session that is not projected',
      'session_revoked',
      { sid: 'ses_2' },
      (stream) => stream.revokeSessionUnprojected('ses_1'),
    ],
    ['an app', 'app_revoked', { sid: 'ses_2', app: 'app_2' }, (stream) => stream.revokeApp('app_1')],
  ])('of %s closes its sockets, and no others', async (_of, code, ofOther, revoke) => {
    await using stream = await streamUnderTest();
    const contractAddress = await stream.registerContract();
    const [first, second, other] = [await stream.connect(), await stream.connect(), await stream.connect(ofOther)];
    const { subscriptionId } = await first.subscribe(contractAddress);
    await other.subscribe(contractAddress);
    await revoke(stream);
    const stopped = await first.waitForMessage('stopped');
    expect(stopped).toEqual({ subscriptionId, code });
    await Promise.all([first.waitForDisconnect(), second.waitForDisconnect()]);
    await stream.catcher.observe(aRecord({ contractAddress, block: 1 }));
    await other.waitForEvents(1);
    expect([first.events, stream.connections()]).toEqual([[], 1]);
  });
});

describe('a node that stops', () => {
  it('tells every client when to reconnect, each at another time, and stops', async () => {
    await using stream = await streamUnderTest({ drainMs: HOUR_MS });
    const clients = [await stream.connect(), await stream.connect(), await stream.connect()];
    // If the stop waited for sockets as it does for requests, it would not return within the time of the test.
    await stream.stopNode();
    const sent = await Promise.all(clients.map((client) => client.waitForMessage('draining')));
    expect(new Set(sent.map(({ reconnectAfterMs }) => reconnectAfterMs)).size).toBe(3);
    await Promise.all(clients.map((client) => client.waitForDisconnect()));
  });
});
