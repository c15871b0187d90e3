import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { EventToAppend } from '../../../shared/event-store/event-store.ts';
import { codeOf, problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { registration } from '../testing/routes/catcher-fixtures.ts';
import { serveCatcherRoutes, startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const contractOf = (index: number) => ({ contractAddress: `0x${String(index).padStart(40, '0')}` });

describe('a user who may have one registration', () => {
  let catcher: CatcherRoutes;
  let other: Awaited<ReturnType<typeof serveCatcherRoutes>>;
  beforeEach(async () => {
    catcher = await startCatcherRoutes({ QUOTAS: '{"userWatches":1}' });
    other = await serveCatcherRoutes(catcher.foundation, catcher.tokens.issuer);
  });
  afterEach(() => Promise.all([catcher.service.close(), other.service.close()]));

  const register = (index: number) => catcher.register(contractOf(index), 'app_1', 'usr_1');
  /** In another process, where it does not wait for what is under way in this one. */
  const registerElsewhere = async (index: number) => {
    const authorization = `Bearer ${await catcher.tokens.accessToken({ claims: { app: 'app_1', sub: 'usr_1' } })}`;
    return fetch(`${other.service.url}/api/v1/contracts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify(registration(contractOf(index))),
    });
  };
  const remove = (id: string) =>
    catcher.ask(`/api/v1/contracts/${id}`, { method: 'DELETE', app: 'app_1', user: 'usr_1' });
  const ruleFor = async (index: number) => (await problemOfAnswer(await register(index))).rule;

  /** Holds the next append of such an event in this stream. */
  const holdNext = (stream: string | RegExp, type: EventToAppend['type']) => {
    const { eventStore } = catcher.foundation;
    const append = eventStore.append.bind(eventStore);
    const reached = Promise.withResolvers<undefined>();
    const released = Promise.withResolvers<undefined>();
    eventStore.append = async (to, revision, events, keep) => {
      if (to.search(stream) === 0 && events.some((event) => event.type === type)) {
        eventStore.append = append;
        reached.resolve(undefined);
        await released.promise;
      }
      return append(to, revision, events, keep);
    };
    return {
      reached: reached.promise,
      release: () => {
        released.resolve(undefined);
      },
    };
  };

  /** Registers the first contract, and removes it: the return of its count is held. */
  const removeHeld = async () => {
    const { id } = await catcher.registered(contractOf(1), 'app_1', 'usr_1');
    const returning = holdNext('quota-user-usr_1', 'QuotaReturned');
    const removed = remove(id);
    await returning.reached;
    return { id, removed, returning };
  };
  /** Does so, and registers the contract again in another process, whose claim is held until the count was returned. */
  const registerWhileRemoving = async () => {
    const { id, removed, returning } = await removeHeld();
    const registering = holdNext(/watch-/, 'ContractRegistered');
    const registered = registerElsewhere(1);
    await registering.reached;
    returning.release();
    expect((await removed).status).toBe(204);
    return { id, registered, registering };
  };

  it('has no second one by registering between a removal and the return of its count', async () => {
    const { id, removed, returning } = await removeHeld();
    expect((await registerElsewhere(1)).status).toBe(200);
    returning.release();
    expect((await removed).status).toBe(204);
    expect(await ruleFor(2)).toBe('userWatches');
    expect((await remove(id)).status).toBe(204);
    expect((await register(2)).status).toBe(201);
  });

  it('has no second one by registering again while the count of the first is returned', async () => {
    const { registered, registering } = await registerWhileRemoving();
    registering.release();
    expect((await registered).status).toBe(200);
    expect(await ruleFor(2)).toBe('userWatches');
  });

  it('is refused the first one again where another took its place meanwhile', async () => {
    const { id, registered, registering } = await registerWhileRemoving();
    expect((await register(2)).status).toBe(201);
    registering.release();
    expect((await problemOfAnswer(await registered)).rule).toBe('userWatches');
    expect(await codeOf(remove(id))).toBe('watch_not_found');
    expect(await ruleFor(3)).toBe('userWatches');
  });
});
