import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, type SignedIn } from '../../../shared/testing/http/http-caller.ethers.ts';

/** The account that anvil funds and unlocks first. */
const OWNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
/** Topic of `Tick(uint256)`. */
const TOPIC = 'b8c95b3cea6303a753d912e243354ef08add1085ed07d34191514ef1001ef9d8';
/** Emits `Tick(n)` for n = count … 1; the count is the first word of the call's data. */
const RUNTIME = `6000355b806000527f${TOPIC}60206000a1600190038060035700`;
const CREATION = `0x603780600b6000396000f3${RUNTIME}`;
const ABI = JSON.stringify([
  { type: 'event', name: 'Tick', anonymous: false, inputs: [{ name: 'n', type: 'uint256', indexed: false }] },
]);
const EVENTS_PER_TRANSACTION = 10_000;
/** Below the maximum gas of a transaction since Osaka. */
const GAS = '0xf42400';
/** More blocks than it takes for a block to become final on the local chain. */
const BLOCKS_UNTIL_FINAL = '0x100';

/** Makes a new contract emit this many events, and returns its address once all are final and can be queried. */
export const emitEvents = async (
  { rpcUrl, eventUrl, chainId }: DevelopmentFile,
  { bearer }: SignedIn,
  count: number,
): Promise<string> => {
  const rpc = async (method: string, ...params: unknown[]): Promise<unknown> => {
    const { body } = await call(rpcUrl, { method: 'POST', body: { jsonrpc: '2.0', id: 1, method, params } });
    if (body['error'] !== undefined) throw new Error(`${method}: ${JSON.stringify(body['error'])}`);
    return body['result'];
  };
  const send = async (transaction: object) => {
    const hash = await rpc('eth_sendTransaction', { from: OWNER, gas: GAS, ...transaction });
    return eventually(
      async () => (await rpc('eth_getTransactionReceipt', hash)) as { contractAddress: string } | null,
      10_000,
      'the transaction must be mined',
    );
  };
  const { contractAddress } = await send({ data: CREATION });
  for (let emitted = 0; emitted < count; emitted += EVENTS_PER_TRANSACTION) {
    const events = Math.min(EVENTS_PER_TRANSACTION, count - emitted);
    await send({ to: contractAddress, data: `0x${events.toString(16).padStart(64, '0')}` });
  }
  await rpc('anvil_mine', BLOCKS_UNTIL_FINAL);
  const body = { chainId, contractAddress, eventSignature: 'Tick(uint256)', eventAbi: ABI, startBlock: 0 };
  await call(`${eventUrl}/api/v1/contracts`, { method: 'POST', headers: bearer, body });
  const areFinal = async () => {
    const query = `chainId=${String(chainId)}&contractAddress=${contractAddress}&eventSignature=Tick&take=1&status=finalized`;
    const { body: page } = await call(`${eventUrl}/api/v1/events?${query}`, { headers: bearer });
    return page['total'] === count;
  };
  await eventually(areFinal, 120_000, 'every event must be stored, and final');
  return contractAddress;
};
