import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CATCHERS_KIND, NODES_KIND } from '../../../schemas/announcements.ts';
import type { GatewayNode } from '../../../schemas/http/event-catcher/gateway-routes.ts';
import { contractKey } from '../../../schemas/topics.ts';
import { partitionOfKey } from '../../../shared/message-bus/partitioning.ts';
import { unavailable } from '../../../shared/errors/refusal.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { announcingNodes, NODE } from '../testing/routes/announced-nodes.ts';
import { CHAIN_ID, EVENT_URL, HEAD } from '../testing/routes/catcher-fixtures.ts';
import { codeOf } from '../../../shared/testing/http/problem-of-answer.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

describe('the nodes', () => {
  let catcher: CatcherRoutes;
  let announce: ReturnType<typeof announcingNodes>;
  beforeEach(async () => {
    catcher = await startCatcherRoutes();
    announce = announcingNodes(catcher.foundation);
    await announce('one');
  });
  afterEach(() => catcher.service.close());
  const list = async (query = '') => {
    const answer = await catcher.ask(`/api/v1/gateway/nodes${query}`, { app: null });
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { nodes: GatewayNode[] }).nodes;
  };

  it('are those that announce themselves, healthy while they do', async () => {
    await catcher.documents.advance({});
    const listed = {
      id: `nod_${'1'.repeat(40)}`,
      ...{ address: NODE, domain: EVENT_URL, rpcDomain: 'https://stream.test' },
      ...{ chainIds: [CHAIN_ID], headBlock: HEAD },
    };
    const isHealthy = async () => {
      await announce('one');
      return (
        JSON.stringify(await list()) ===
        JSON.stringify([{ ...listed, connections: 3, partitions: [3, 4], healthy: true }])
      );
    };
    await eventually(isHealthy, 5_000, 'a node that renews its announcement is healthy');
    expect(await list(`?chainId=${String(CHAIN_ID)}`)).toEqual(await list());
    expect(await list('?chainId=1')).toEqual([]);
    const another = { id: 'another', renewals: 1, document: { chainIds: [9_999], failing: [], followed: [] } };
    await catcher.foundation.readStore.announce(CATCHERS_KIND, another);
    const isServed = async () => (await list('?chainId=9999')).length === 1;
    await eventually(isServed, 5_000, 'another event catcher serves another chain');
    expect(await list()).toMatchObject([{ chainIds: [CHAIN_ID, 9_999], headBlock: null, healthy: false }]);
    await announce('one');
    expect(await list(`?chainId=${String(CHAIN_ID)}`)).toMatchObject([
      { chainIds: [CHAIN_ID, 9_999], headBlock: HEAD, healthy: true },
    ]);
    await catcher.foundation.readStore.withdraw(CATCHERS_KIND, another);
    await eventually(async () => !(await isServed()), 5_000, 'it is gone');
    await announce('one');
    catcher.clock.time += 5_000;
    // Lets the last renewal be seen.
    await list();
    catcher.clock.time += 5_000;
    expect(await list()).toEqual([{ ...listed, connections: 0, partitions: [], healthy: false }]);
    catcher.clock.time += 25_000;
    await eventually(async () => (await list()).length === 0, 5_000, 'a node that is silent is forgotten');
    expect(await catcher.foundation.readStore.announcements(NODES_KIND)).toEqual([]);
  });

  it('come in an order of its own for each partition of a contract, and are asked for by chain and contract', async () => {
    const addresses = ['1', '2', '3', '4'].map((digit) => `0x${digit.repeat(40)}`);
    const partitioning = { hash: 'murmur2', partitions: 12 } as const;
    for (const address of addresses)
      await announce(address, { address, partitioning, rpcDomain: `https://${address}.stream.test` });
    await eventually(async () => (await list()).length === addresses.length, 5_000, 'they must be known');
    const order = async (contract: string) =>
      (await list(`?chainId=${String(CHAIN_ID)}&contractAddress=${contract}`)).map(({ address }) => address);
    const contracts = Array.from({ length: 40 }, (_, index) => `0x${String(index).padStart(40, '0')}`);
    const first = new Map<number, string | undefined>();
    for (const contract of contracts) {
      const [best, ...others] = await order(contract);
      const partition = partitionOfKey(partitioning, contractKey(CHAIN_ID, contract));
      expect(first.get(partition) ?? best).toBe(best);
      first.set(partition, best);
      expect(new Set([best, ...others])).toEqual(new Set(addresses));
    }
    expect(new Set(first.values()).size).toBeGreaterThan(2);
    for (const query of [
      'contractAddress=0x1',
      `contractAddress=${NODE}`,
      `chainId=${String(CHAIN_ID)}&contractAddress=0x1`,
    ]) {
      const answer = await catcher.ask(`/api/v1/gateway/nodes?${query}`, { app: null });
      expect([query, answer.status, await codeOf(answer)]).toEqual([query, 400, 'validation_failed']);
    }
  });

  it('are not healthy while their chain cannot be read, and as long as no event catcher answers at their domain', async () => {
    const becomes = (healthy: boolean, otherwise: string, domain = EVENT_URL) => {
      const isSo = async () => {
        await announce('one', { domain });
        return (await list())[0]?.healthy === healthy;
      };
      return eventually(isSo, 10_000, otherwise);
    };
    await becomes(true, 'a node that renews its announcement is healthy');
    catcher.progress.error = 'no provider answers';
    await becomes(false, 'its chain cannot be read');
    catcher.progress.error = null;
    await becomes(true, 'its chain can be read again');
    await becomes(false, 'nobody answers there', 'http://elsewhere.test');
  });

  it('are said to be unknown while the read store does not answer', async () => {
    catcher.foundation.readStore.announcements = () => Promise.reject(unavailable('away', undefined));
    catcher.clock.time += 5_000;
    const answer = await catcher.ask('/api/v1/gateway/nodes', { app: null });
    expect(await codeOf(answer)).toBe('dependency_unavailable');
  });
});
