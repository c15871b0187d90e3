import { expect, it } from '@jest/globals';
import { areFollowed, gatewayNodes } from './gateway-nodes.ts';

const streamed = { chainIds: [1, 10], headBlock: 7 };
const [A, B] = ['aA', 'bB'].map((digits) => `0x${digits.repeat(20)}`) as [string, string];
const served = {
  ...streamed,
  domains: new Set([A, B].map((address) => `domain of ${address}`)),
  areChainsFollowed: true,
};
const process = (address: string, connections: number, { isAlive = true, isReady = true } = {}) => ({
  isAlive,
  document: { address, domain: `domain of ${address}`, rpcDomain: `stream of ${address}`, connections, isReady },
});
const node = (address: string, changes: { connections: number; healthy: boolean }) => ({
  id: `nod_${address.slice(2).toLowerCase()}`,
  address,
  domain: `domain of ${address}`,
  rpcDomain: `stream of ${address}`,
  ...streamed,
  ...changes,
});

it('the processes behind one address are one node, with the connections of those that live', () => {
  const announced = [
    process(B, 1),
    process(A, 2, { isReady: false }),
    process(A, 3),
    process(A, 40, { isAlive: false }),
  ];
  expect(gatewayNodes(announced, served)).toEqual([
    node(A, { connections: 5, healthy: true }),
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
