import type { eventCatcherRoutes } from '../http/event-catcher/event-catcher-routes.ts';
import { eventExamples } from './event-examples.ts';
import type { ExamplesOf } from './http-example.ts';

const { ContractRegistered, ChainEventObserved } = eventExamples;
const { watchId, chainId, contractAddress, eventName, eventSignature, topic0, startBlock, fragment } =
  ContractRegistered;
const { Origin, ...record } = ChainEventObserved;

const watch = {
  ...{ id: watchId, chainId, contractAddress, eventName, eventSignature, topic0, startBlock, proxy: null },
  ...{ state: 'live' as const, createdAt: '2026-01-01T00:00:00.000Z' },
};

/** For the OpenAPI document of the event catcher. */
export const eventCatcherExamples: ExamplesOf<typeof eventCatcherRoutes> = {
  registerContract: {
    body: {
      ...{ chainId, contractAddress },
      eventSignature: 'Transfer(address indexed from, address indexed to, uint256 value)',
      eventAbi: [{ type: 'event', ...fragment }],
      startBlock: 'deploy',
    },
    answer: watch,
  },
  listContracts: { answer: { items: [watch], take: 10, skip: 0, total: 1 } },
  getContract: { answer: watch },
  removeContract: {},
  pauseContract: { answer: { ...watch, state: 'paused' } },
  resumeContract: { answer: watch },
  replayContract: { body: { fromBlock: 1, toBlock: 7 }, answer: { id: watchId, fromBlock: 1, toBlock: 7 } },
  queryEvents: {
    answer: {
      items: [{ ...record, WatchId: watchId, Status: 'finalized', Origin }],
      ...{ take: 10, skip: 0, total: 1, next: null, cursor: 'AAAAAAAAAAwBm3qZvAA', head: 9 },
    },
  },
  readStatus: {
    answer: {
      ...{ id: watchId, chainId, contractAddress, eventName, state: 'live', startBlock },
      ...{ currentBlockNumber: 9, headBlock: 9, finalizedBlock: 7, lagBlocks: 0, lagSeconds: 2 },
      ...{ eventsTotal: 1, eventsPerSecond: 0, etaSeconds: 0, verifiedBlock: 7, lastError: null, gaps: [] },
    },
  },
  listNodes: {
    answer: {
      nodes: [
        {
          ...{ id: 'node-1', address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' },
          ...{ domain: 'https://events.example', rpcDomain: 'https://stream.example' },
          ...{ chainIds: [chainId], headBlock: 9, connections: 3, partitions: [3, 7], healthy: true },
        },
      ],
    },
  },
  validateAccess: {
    body: {
      node: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      timestamp: '2026-01-01T00:00:00Z',
      signature: `0x${'1'.repeat(130)}`,
    },
    answer: {
      success: true,
      connectionToken: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIweDcwIn0.c2lnbmF0dXJl',
      expiresAt: '2026-01-01T00:10:00.000Z',
    },
  },
};
