import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '../../../../shared/client/annals-client.ts';
import { CHAIN_ID } from '../fake-catcher.ts';
import type { KindOfClient } from './kinds-of-client.ts';
import { followByLibrary } from './library-follower.ts';
import { tokenService } from './token-service.ts';

/** Short, so that a client connects many times before a seed is over. */
const RETRY_PAUSES = { firstMs: 20, maxMs: 200 };

/** `@annals/client` in Node, which has its tokens from an account service of its own. */
export const library: KindOfClient = async ({ url, contractAddress, token, take, violate, signal }) => {
  const service = createServer(tokenService(token));
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  const accountUrl = `http://127.0.0.1:${String((service.address() as AddressInfo).port)}`;
  const annals = createClient({
    ...{ accountUrl, eventUrl: url, streamUrl: url, origin: 'http://shop.test' },
    ...{ apiKey: 'ak_1', signRequest: () => '0x', repeats: 0, retryPauses: RETRY_PAUSES },
  });
  const channel = { chainId: CHAIN_ID, contractAddress, eventSignature: 'Transfer' };
  await followByLibrary({ annals, channel, signal, take, violate });
  service.closeAllConnections();
  service.close();
};
