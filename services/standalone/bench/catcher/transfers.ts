import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { ChainClient } from '../../../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../../../shared/chain/client/chain-reader.json-rpc.ts';

const BLOCKS = 100;
const EVENTS_PER_BLOCK = 2_000;
export const TRANSFER = eventExamples.ContractRegistered.topic0 ?? '';
const GAS = `0x${(16_000_000).toString(16)}`;

/** The contract that emits the transfers. */
export const EMITTING_CONTRACT = '0x00000000000000000000000000000000000ca7c4';

/**
 * Emits as many transfers, from the caller to itself, as its argument says: a loop around LOG3.
 * 00 n ← calldata | 03 loop: n = 0 → 3c | n ← n − 1 | memory ← n | log(memory, TRANSFER, caller, this) | → 03 | 3c stop
 */
const EMITTER = `0x6000355b8015603c57600190038060005230337f${TRANSFER.slice(2)}60206000a36003565b00`;

/**
 * Emits transfers in a hundred blocks, followed by blocks that make them final.
 * @returns the number of logs of the chain afterwards
 */
export const emitTransfers = async (rpcUrl: string): Promise<number> => {
  const call = async (method: string, ...params: unknown[]): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  await call('anvil_setCode', EMITTING_CONTRACT, EMITTER);
  const [from] = (await call('eth_accounts')) as string[];
  const input = `0x${EVENTS_PER_BLOCK.toString(16).padStart(64, '0')}`;
  for (let block = 0; block < BLOCKS; block += 1) {
    await call('eth_sendTransaction', { from, to: EMITTING_CONTRACT, input, gas: GAS });
    await call('evm_mine');
  }
  const reader = new JsonRpcChainReader(new ChainClient(2484, [rpcUrl]));
  let events = 0;
  for (let block = 0; block <= (await reader.head()).number; block += 1) {
    events += (await reader.logsOfRange(block, block, { addresses: [EMITTING_CONTRACT], topics: [] })).length;
  }
  reader.close();
  return events;
};
