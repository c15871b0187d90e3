import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { CaseRun } from '../case-run.ts';
import type { CheckedChain } from '../checked-chain.ethers.ts';
import { askCaughtUpPage, openEvents } from './http-requests.ts';

const NOT_CAUGHT_UP = JSON.stringify({ code: 'not_caught_up' });
const UNAVAILABLE = JSON.stringify({ code: 'dependency_unavailable' });

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Starts a node that gives these bodies with 503, and then server-sent events. Returns its address. */
const nodeThatRefuses = async (...refusals: string[]): Promise<URL> => {
  server = createServer((_request, response) => {
    const refusal = refusals.shift();
    if (refusal === undefined) response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 1\n\n');
    else response.writeHead(503, { 'content-type': 'application/problem+json' }).end(refusal);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return new URL(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
};

const runWithin = (withinMs: number): CaseRun => {
  const node = { streamUrl: '', eventUrl: '', token: () => Promise.resolve(''), chain: {} as CheckedChain, withinMs };
  return new CaseRun(node, new AbortController().signal);
};

describe('a request of a step', () => {
  it('is repeated while the read model of the node is behind', async () => {
    const url = await nodeThatRefuses(NOT_CAUGHT_UP, NOT_CAUGHT_UP);
    expect(await askCaughtUpPage(runWithin(60_000), url, {})).toMatchObject({ status: 200 });
  });

  it('is repeated before server-sent events too', async () => {
    const url = await nodeThatRefuses(NOT_CAUGHT_UP, NOT_CAUGHT_UP);
    const { stream, answer } = await openEvents(runWithin(60_000), url, {});
    stream.close();
    expect(answer).toMatchObject({ status: 200 });
  });

  it('has any other refusal as its answer', async () => {
    const url = await nodeThatRefuses(UNAVAILABLE);
    expect(await askCaughtUpPage(runWithin(60_000), url, {})).toMatchObject({ status: 503 });
  });

  it('fails with the refusal when the time of the step is over', async () => {
    const url = await nodeThatRefuses(NOT_CAUGHT_UP);
    await expect(askCaughtUpPage(runWithin(0), url, {})).rejects.toMatchObject({ came: { status: 503 } });
  });
});
