import { expect, it } from '@jest/globals';
import { gatewayNodes } from './gateway-nodes.ts';

const served = { chainIds: [1, 10], headBlock: 7 };
const [A, B] = ['aA', 'bB'].map((digits) => `0x${digits.repeat(20)}`) as [string, string];
const process = (address: string, connections: number, { isAlive = true, isReady = true } = {}) => ({
  isAlive,
  document: { address, domain: `domain of ${address}`, rpcDomain: `stream of ${address}`, connections, isReady },
});
const node = (address: string, changes: { connections: number; healthy: boolean }) => ({
  id: `nod_${address.slice(2).toLowerCase()}`,
  address,
  domain: `domain of ${address}`,
  rpcDomain: `stream of ${address}`,
  ...served,
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
