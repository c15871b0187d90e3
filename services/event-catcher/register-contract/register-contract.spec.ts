import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { ChainUnavailable, RangeTooLarge, StateUnavailable } from '../../../shared/chain/chain-reader.ts';
import { inSimulatedTime } from '../../../shared/testing/simulation/simulated-globals.ts';
import { ANSWER_WITHIN_MS } from '../../../shared/edge/server/request-deadline.ts';
import { freezeTimers, untilTrue } from '../../../shared/testing/http/frozen-timers.ts';
import { codeOf, problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { eventAbi, HEAD, TOKEN, TRANSFER, transferAbi } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';
import { findProxy } from './read-registration.ts';
import { resolveStartBlock } from './start-block.ts';

describe('registering a contract event', () => {
  let catcher: CatcherRoutes;
  beforeEach(async () => {
    catcher = await startCatcherRoutes();
  });
  afterEach(() => catcher.service.close());

  const bodyOf = async (answer: Response) => (await answer.json()) as RegisteredContract;
  const eventsOf = async ({ id }: { id: string }) => {
    const events = await catcher.foundation.eventStore.read(`watch-${id}`);
    return events.map(({ type, data }) => [type, data['appId'] ?? null, data['startBlock']]);
  };

  it('returns the watch in canonical form, with its position', async () => {
    const answer = await catcher.register({ contractAddress: TOKEN.toLowerCase() });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('x-position')).not.toBeNull();
    expect(await answer.json()).toEqual({
      id: expect.stringMatching(/^wch_[0-9a-z]{26}$/),
      chainId: 2484,
      contractAddress: TOKEN,
      eventName: 'Transfer',
      eventSignature: TRANSFER,
      topic0: '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
      startBlock: 10,
      proxy: null,
      state: 'backfilling',
      createdAt: new Date(catcher.clock.now()).toISOString(),
    });
  });

  it('returns the same watch for the same registration, and stores nothing', async () => {
    const first = await catcher.registered();
    for (const changes of [
      {},
      { eventSignature: TRANSFER },
      { eventAbi: eventAbi(transferAbi, { type: 'fallback' }) },
    ]) {
      const again = await catcher.register(changes);
      expect(again.status).toBe(200);
      expect(await again.json()).toEqual(first);
    }
    expect(await eventsOf(first)).toEqual([['ContractRegistered', 'app_1', 10]]);
  });

  it('lets the watch begin later once nobody else claims it from an earlier block on', async () => {
    const first = await catcher.registered();
    expect((await catcher.registered({ startBlock: 15 })).startBlock).toBe(15);
    expect((await catcher.registered({ startBlock: 20 }, 'app_2')).startBlock).toBe(15);
    expect((await catcher.ask(`/api/v1/contracts/${first.id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await catcher.registered({ startBlock: 25 }, 'app_3')).startBlock).toBe(20);
    expect(await eventsOf(first)).toEqual([
      ['ContractRegistered', 'app_1', 10],
      ['WatchShortened', null, 15],
      ['ContractRegistered', 'app_2', 15],
      ['WatchRemoved', 'app_1', undefined],
      ['WatchShortened', null, 20],
      ['ContractRegistered', 'app_3', 20],
    ]);
  });

  it('creates one watch from many registrations at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => catcher.register()));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array<number>(19).fill(200), 201]);
    const [first] = await Promise.all(answers.map(bodyOf));
    if (!first) throw new Error('twenty were requested');
    expect(await eventsOf(first)).toHaveLength(1);
  });

  it('creates another watch for another fragment of the same event, whoever registered which one first', async () => {
    const [from, to, value] = transferAbi.inputs;
    const unnamed = { ...transferAbi, inputs: transferAbi.inputs.map((input) => ({ ...input, name: '' })) };
    const fragments = [
      { eventAbi: eventAbi({ ...transferAbi, inputs: [from, { ...to, indexed: false }, value] }) },
      { eventAbi: eventAbi(transferAbi) },
      { eventAbi: eventAbi(unnamed) },
      { eventAbi: eventAbi({ ...transferAbi, anonymous: true }) },
    ].map((abi, at) => ({ ...abi, eventSignature: at === 0 ? 'Transfer(address,address,uint256)' : TRANSFER }));
    const ids = new Set<string>();
    for (const [at, fragment] of fragments.entries()) {
      const first = await catcher.register(fragment, `app_${String(at)}`);
      expect(first.status).toBe(201);
      const { id } = await bodyOf(first);
      ids.add(id);
      const again = await catcher.register(fragment, 'app_9');
      expect([again.status, (await bodyOf(again)).id]).toEqual([200, id]);
    }
    expect(ids.size).toBe(fragments.length);
  });

  it('gives an anonymous event no first topic', async () => {
    const anonymous = await catcher.registered({ eventAbi: eventAbi({ ...transferAbi, anonymous: true }) });
    expect(anonymous).toMatchObject({ topic0: null, eventSignature: TRANSFER });
  });

  it('finds the block in which a contract was deployed', async () => {
    for (const block of [0, 1, 7, HEAD - 1, HEAD]) {
      const contractAddress = `0x${String(block).padStart(40, '1')}`;
      catcher.chain.deployedAt.set(contractAddress, block);
      const contract = await catcher.registered({ contractAddress, startBlock: 'deploy' });
      expect(contract.startBlock).toBe(block);
      expect(contract).not.toHaveProperty('warnings');
    }
  });

  it('begins with the first life of a contract that was destroyed and made again, also where it is not there now', async () => {
    catcher.chain.lives.set(TOKEN.toLowerCase(), [
      [5, 9],
      [30, HEAD],
    ]);
    const contract = await catcher.registered({ startBlock: 'deploy' });
    expect([contract.startBlock, contract.warnings]).toEqual([5, undefined]);
    const contractAddress = `0x${'1'.repeat(40)}`;
    catcher.chain.lives.set(contractAddress, [[3, 9]]);
    const destroyed = await catcher.registered({ startBlock: 'deploy', contractAddress });
    expect([destroyed.startBlock, destroyed.warnings]).toEqual([3, [expect.stringContaining('no code')]]);
  });

  it('warns where nothing tells whether a contract was there before, and destroyed', async () => {
    catcher.chain.logsFailure = () => new RangeTooLarge('at most 1000 blocks');
    const contract = await catcher.registered({ startBlock: 'deploy' });
    const warnings = [expect.stringContaining('had code before block 7, and lost it, is not known')];
    expect(contract).toMatchObject({ startBlock: 7, warnings });
    expect(await catcher.registered()).not.toHaveProperty('warnings');
  });

  it('is refused when no provider keeps the state that tells the block of the deployment', async () => {
    catcher.chain.stateFrom = 10;
    expect(await codeOf(catcher.register({ startBlock: 'deploy' }))).toBe('deploy_block_unknown');
    expect((await catcher.register()).status).toBe(201);
  });

  it('does not wait longer than its deadline for the block of the deployment, and asks no further then', async () => {
    catcher.chain.isSilent = true;
    await expect(resolveStartBlock(catcher.chain, TOKEN, 'deploy', 20)).rejects.toMatchObject({
      code: 'dependency_unavailable',
    });
    expect(catcher.chain.calls).toBe(1);
  });

  it('accepts a contract without code, with a warning', async () => {
    const contractAddress = `0x${'1'.repeat(40)}`;
    const warned = { warnings: [expect.stringContaining('no code')] };
    expect(await catcher.registered({ contractAddress })).toMatchObject({ startBlock: 10, ...warned });
    const other = `0x${'2'.repeat(40)}`;
    const deploy = await catcher.registered({ contractAddress: other, startBlock: 'deploy' });
    expect(deploy).toMatchObject({ startBlock: HEAD, ...warned });
  });

  describe('of a proxy', () => {
    const implementation = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
    const address = TOKEN.toLowerCase();
    const proxy = { kind: 'eip1967', implementation } as const;

    it('answers what it runs, wherever the watch is shown', async () => {
      catcher.chain.proxies.set(address, proxy);
      const { id, ...contract } = await catcher.registered();
      expect(contract.proxy).toEqual(proxy);
      await catcher.documents.project();
      const shown = [`/api/v1/contracts/${id}`, '/api/v1/contracts'].map(async (path) =>
        (await catcher.ask(path)).json(),
      );
      expect(await Promise.all(shown)).toMatchObject([{ id, proxy }, { items: [{ id, proxy }] }]);
      const pause = await catcher.ask(`/api/v1/contracts/${id}/pause`, { method: 'POST' });
      expect(await pause.json()).toMatchObject({ id, proxy });
    });

    it('keeps what it ran when it was registered, until another app registers it', async () => {
      catcher.chain.proxies.set(address, proxy);
      await catcher.register();
      const newest = { kind: 'eip1967-beacon', implementation: TOKEN } as const;
      catcher.chain.proxies.set(address, newest);
      expect((await catcher.registered()).proxy).toEqual(proxy);
      expect((await catcher.registered({}, 'app_2')).proxy).toEqual(newest);
      catcher.chain.proxies.set(address, new ChainUnavailable('no provider'));
      expect((await catcher.registered({}, 'app_3')).proxy).toEqual(newest);
      catcher.chain.proxies.delete(address);
      expect((await catcher.registered({}, 'app_4')).proxy).toBeNull();
    });

    it.each([new ChainUnavailable('no provider'), new StateUnavailable('the method does not exist')])(
      'is accepted with a warning where no provider tells what it runs: %s',
      async (error) => {
        catcher.chain.proxies.set(address, error);
        const contract = await catcher.registered();
        expect(contract).toMatchObject({ proxy: null, warnings: [expect.stringContaining('proxy is not known')] });
        expect((await catcher.foundation.eventStore.read(`watch-${contract.id}`))[0]?.data).not.toHaveProperty('proxy');
      },
    );

    it('does not wait for long to be told what it runs', () =>
      inSimulatedTime(async () => {
        const silent = { proxyOf: () => new Promise<never>(() => undefined) };
        expect(await findProxy(silent, TOKEN)).toBeUndefined();
        await expect(findProxy({ proxyOf: () => Promise.reject(new Error('a defect')) }, TOKEN)).rejects.toThrow(
          'a defect',
        );
      }));

    it('is not looked for where there is no code', async () => {
      const contractAddress = `0x${'1'.repeat(40)}`;
      catcher.chain.proxies.set(contractAddress, proxy);
      expect((await catcher.registered({ contractAddress })).proxy).toBeNull();
    });
  });

  it('accepts the head as the start block, by its number or as the latest', async () => {
    for (const startBlock of [HEAD, 'latest']) {
      expect((await catcher.registered({ startBlock })).startBlock).toBe(HEAD);
    }
  });

  it('keeps where a watch begins when whoever claims it registers it from the latest block again', async () => {
    const first = await catcher.registered({ startBlock: 'latest' });
    catcher.chain.mine([]);
    const again = await catcher.register({ startBlock: 'latest' });
    expect([again.status, await again.json()]).toEqual([200, first]);
    expect(await eventsOf(first)).toEqual([['ContractRegistered', 'app_1', HEAD]]);
  });

  it('keeps where a claim begins, not where the watch does, when it is registered from the latest block again', async () => {
    const first = await catcher.registered({ startBlock: 'latest' });
    await catcher.registered({ startBlock: 10 }, 'app_2');
    catcher.chain.mine([]);
    expect((await catcher.register({ startBlock: 'latest' })).status).toBe(200);
    const path = `/api/v1/contracts/${first.id}`;
    expect((await catcher.ask(path, { method: 'DELETE', app: 'app_2', user: 'usr_1' })).status).toBe(204);
    expect((await eventsOf(first)).at(-1)).toEqual(['WatchShortened', null, HEAD]);
  });

  it('is refused at once if the chain does not answer', async () => {
    catcher.chain.failure = new ChainUnavailable('no provider');
    const problem = await problemOfAnswer(await catcher.register());
    expect(problem).toMatchObject({
      code: 'dependency_unavailable',
      retryAfter: 1,
      detail: expect.stringContaining('no provider'),
    });
  });

  it('says so before the time of its request is over if the chain is silent', async () => {
    catcher.chain.isSilent = true;
    freezeTimers();
    let registering: Promise<Response>;
    try {
      registering = catcher.register();
      await untilTrue(() => catcher.chain.calls > 0);
      jest.advanceTimersByTime(ANSWER_WITHIN_MS - 1);
    } finally {
      jest.useRealTimers();
    }
    const problem = await problemOfAnswer(await registering);
    expect(problem).toMatchObject({
      code: 'dependency_unavailable',
      detail: 'the chain cannot be read now: its providers did not answer in time',
    });
  });
});
