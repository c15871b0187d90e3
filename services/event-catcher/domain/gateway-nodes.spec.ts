import { describe, expect, it } from '@jest/globals';
import type { GatewayNode } from '../../../schemas/http/event-catcher/gateway-routes.ts';
import { areFollowed, gatewayNodes, nodesForPartition } from './gateway-nodes.ts';

const streamed = { chainIds: [1, 10], headBlock: 7 };
const [A, B] = ['aA', 'bB'].map((digits) => `0x${digits.repeat(20)}`) as [string, string];
const served = {
  ...streamed,
  domains: new Set([A, B].map((address) => `domain of ${address}`)),
  areChainsFollowed: true,
};
const process = (
  address: string,
  connections: number,
  { isAlive = true, isReady = true, partitions = [] as number[] } = {},
) => ({
  isAlive,
  document: {
    ...{ address, domain: `domain of ${address}`, rpcDomain: `stream of ${address}` },
    ...{ connections, isReady, partitions, partitioning: null },
  },
});
const node = (address: string, changes: { connections: number; healthy: boolean; partitions?: number[] }) => ({
  id: `nod_${address.slice(2).toLowerCase()}`,
  address,
  domain: `domain of ${address}`,
  rpcDomain: `stream of ${address}`,
  ...streamed,
  partitions: [] as number[],
  ...changes,
});

it('the processes behind one address are one node, with the connections of those that live', () => {
  const announced = [
    process(B, 1),
    process(A, 2, { isReady: false, partitions: [10, 2] }),
    process(A, 3, { partitions: [2, 0] }),
    process(A, 40, { isAlive: false, partitions: [7] }),
  ];
  expect(gatewayNodes(announced, served)).toEqual([
    node(A, { connections: 5, partitions: [0, 2, 10], healthy: true }),
    node(B, { connections: 1, healthy: true }),
  ]);
});

it('a node is not healthy if no process of it lives, or none is ready', () => {
  expect(gatewayNodes([process(A, 2, { isAlive: false })], served)).toEqual([
    node(A, { connections: 0, healthy: false }),
  ]);
  expect(gatewayNodes([process(A, 2, { isReady: false })], served)).toEqual([
    node(A, { connections: 2, healthy: false }),
  ]);
  expect(gatewayNodes([], served)).toEqual([]);
});

it('a node is not healthy if no event catcher answers at its domain, or its chains are not followed', () => {
  const healthy = (changes: object) =>
    gatewayNodes([process(A, 2), process(B, 0)], { ...served, ...changes }).map((node) => node.healthy);
  expect(healthy({})).toEqual([true, true]);
  expect(healthy({ domains: new Set([undefined, `domain of ${B}`]) })).toEqual([false, true]);
  expect(healthy({ areChainsFollowed: false })).toEqual([false, false]);
});

it('chains are followed if an event catcher that lives follows each of them, and can read it', () => {
  const catcher = (followed: number[], { isAlive = true, error = null as string | null } = {}) => ({
    isAlive,
    document: {
      ...{ chainIds: [1, 10], failing: [], followed },
      statuses: followed.map((chainId) => ({ chainId, error, warning: 'stands still', backfills: [] })),
    },
  });
  expect(areFollowed([1, 10], [catcher([10]), catcher([1])])).toBe(true);
  expect(areFollowed([], [])).toBe(true);
  expect(areFollowed([1], [])).toBe(false);
  expect(areFollowed([1, 10], [catcher([1])])).toBe(false);
  expect(areFollowed([1], [catcher([1], { isAlive: false })])).toBe(false);
  expect(areFollowed([1], [catcher([1], { error: 'no provider answers' })])).toBe(false);
});

describe('the order of the nodes for a partition', () => {
  const nodesOf = (count: number) =>
    Array.from({ length: count }, (_, at) => node(`0x${String(at).repeat(40)}`, { connections: 0, healthy: true }));
  const partitions = Array.from({ length: 1_000 }, (_, at) => at);
  const best = (nodes: readonly GatewayNode[], partition: number) => nodesForPartition(nodes, partition)[0]?.id;

  it('gives each node about as many partitions', () => {
    const counts = Map.groupBy(partitions, (partition) => best(nodesOf(4), partition));
    expect(counts.size).toBe(4);
    for (const { length } of counts.values()) expect(Math.abs(length - 250)).toBeLessThan(70);
  });

  it('moves only the partitions of a node that ends, to all others, and only to a node that is new', () => {
    const [four, five] = [nodesOf(4), nodesOf(5)];
    const ill = four.map((one, at) => (at === 2 ? { ...one, healthy: false } : one));
    const [lost, added] = [four[2]?.id, five[4]?.id];
    const moved = partitions.filter((partition) => best(ill, partition) !== best(four, partition));
    expect(moved.map((partition) => best(four, partition))).toEqual(moved.map(() => lost));
    expect(new Set(moved.map((partition) => best(ill, partition))).size).toBe(3);
    expect(partitions.filter((partition) => best(ill, partition) === lost)).toEqual([]);
    const taken = partitions.filter((partition) => best(five, partition) !== best(four, partition));
    expect(taken.map((partition) => best(five, partition))).toEqual(taken.map(() => added));
    expect(taken.length).toBeGreaterThan(100);
  });
});
