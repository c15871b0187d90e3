import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { chainSettings } from '../../../shared/config/chain-settings.ts';
import { LOCAL_FUNDER_KEY } from '../../../shared/local-chain/development-token.ethers.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { chainAdministration } from '../chain-administration.ts';

const ETHER = 10n ** 18n;
const REFUSALS = 5;

const folder = temporaryFolder();
let anvil: Anvil;
let node: Server;
let refused = 0;

/** Answers as geth does while it indexes: it refuses to say that no block has a transaction. */
const answerTo = async (request: IncomingMessage): Promise<string> => {
  const body = await text(request);
  const isOfReceipt = body.includes('eth_getTransactionReceipt');
  if (isOfReceipt && refused < REFUSALS) {
    refused += 1;
    const calls = JSON.parse(body) as { id: number } | { id: number }[];
    const error = { code: -32_000, message: 'transaction indexing is in progress' };
    const refusals = [calls].flat().map(({ id }) => ({ jsonrpc: '2.0', id, error }));
    return JSON.stringify(Array.isArray(calls) ? refusals : refusals[0]);
  }
  const headers = { 'content-type': 'application/json' };
  return (await fetch(anvil.rpcUrl, { method: 'POST', headers, body })).text();
};

beforeAll(async () => {
  anvil = await Anvil.start(folder);
  node = createServer((request, response) => {
    void answerTo(request).then((answer) => response.end(answer));
  }).listen(0, '127.0.0.1');
  await once(node, 'listening');
});
afterAll(async () => {
  node.closeAllConnections();
  node.close();
  await anvil.stop();
});

it('a chain is prepared at a node that is still indexing transactions', async () => {
  const { port } = node.address() as AddressInfo;
  const chain = chainSettings.parse({ chainId: Anvil.chainId, rpcUrls: [`http://127.0.0.1:${String(port)}`] });
  const administration = chainAdministration(await testFoundation());
  const funding = { funderKey: LOCAL_FUNDER_KEY, depositWei: ETHER, executors: 1, executorWei: ETHER };
  const prepared = await administration.prepare(chain, funding);
  expect(refused).toBe(REFUSALS);
  const state = await administration.state(chain);
  expect(state).toMatchObject({ missing: [], paymaster: { address: prepared.paymaster, depositWei: String(ETHER) } });
});
