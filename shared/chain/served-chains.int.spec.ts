import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CannotStart } from '../errors/cannot-start.ts';
import { JsonRpcNode } from '../testing/chain/json-rpc-node.ts';
import { MemoryChain } from '../testing/chain/chain-reader.memory.ts';
import { requireServedChains } from './served-chains.ts';

/** Longer than jest waits: no answer is late. */
const HOUR_MS = 3_600_000;

describe('the chains that endpoints serve', () => {
  let five: JsonRpcNode;
  let silent: JsonRpcNode;
  beforeAll(async () => {
    five = await JsonRpcNode.start(new MemoryChain(5));
    silent = await JsonRpcNode.start(new MemoryChain(6));
    silent.respond = (response) => response.end('<html>down</html>');
  });
  afterAll(() => Promise.all([five.stop(), silent.stop()]));

  it('are those that are configured, as far as they answer', async () => {
    await requireServedChains();
    await requireServedChains(
      [
        { chainId: 5, rpcUrls: [five.url, silent.url, 'http://127.0.0.1:1'] },
        { chainId: 7, rpcUrls: [silent.url] },
      ],
      HOUR_MS,
    );
  });

  it('end the start where one is another, in a line that names the setting and no address', async () => {
    const wrong = requireServedChains(
      [
        { chainId: 5, rpcUrls: [five.url] },
        { chainId: 7, rpcUrls: [silent.url, five.url] },
      ],
      HOUR_MS,
    );
    await expect(wrong).rejects.toThrow(CannotStart);
    await expect(wrong).rejects.toThrow(/^CHAINS\[1\]\.rpcUrls\[1\] serves chain 5, and CHAINS\[1\]\.chainId is 7/);
  });
});
