import type { WatchedProxy } from '../../../schemas/events/event-catcher/watch-events.ts';
import { checksumAddress } from '../identifiers/address.ts';
import type { RpcCall } from '../client/answer-limits.ts';
import { StateUnavailable } from '../chain-reader.ts';
import { InvalidAnswer } from '../client/answers/checked-answers.ts';
import type { JsonRpcEndpoint } from '../client/endpoints/json-rpc-endpoint.ts';

/** `bytes32(uint256(keccak256('eip1967.proxy.implementation')) - 1)` */
export const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc';
/** `bytes32(uint256(keccak256('eip1967.proxy.beacon')) - 1)` */
export const BEACON_SLOT = '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50';

/** `implementation()` */
const IMPLEMENTATION = '5c60da1b';
const CALL_GAS = '0xf4240';
const WORD = /^0x[0-9a-f]{0,64}$/i;
const ADDRESS_WORD = /^0{24}[0-9a-f]{40}$/;

/**
 * Returns the contract that a proxy runs: `eth_getStorageAt` of its two slots at the head, and `eth_call` if it has a
 * beacon. `null` for any other contract.
 * @throws StateUnavailable if the endpoint refuses, NoAnswer, InvalidAnswer
 */
export const askProxy = async (endpoint: JsonRpcEndpoint, contract: string): Promise<WatchedProxy | null> => {
  const slots = [IMPLEMENTATION_SLOT, BEACON_SLOT].map((slot): RpcCall => ({
    method: 'eth_getStorageAt',
    params: [contract, slot, 'latest'],
  }));
  const [implementation, beacon] = await askAddresses(endpoint, slots);
  if (implementation !== undefined) return { kind: 'eip1967', implementation: checksumAddress(implementation) };
  if (beacon === undefined) return null;
  const call: RpcCall = { method: 'eth_call', params: [{ data: codeToAsk(beacon), gas: CALL_GAS }, 'latest'] };
  const [ofBeacon] = await askAddresses(endpoint, [call]);
  return ofBeacon === undefined ? null : { kind: 'eip1967-beacon', implementation: checksumAddress(ofBeacon) };
};

/** Requests words and reads them as addresses: the digits of each, `undefined` for zero and for anything else. */
const askAddresses = async (endpoint: JsonRpcEndpoint, calls: readonly RpcCall[]): Promise<(string | undefined)[]> => {
  const outcomes = await endpoint.tryCall(calls);
  return outcomes.map((outcome) => {
    if ('error' in outcome) throw new StateUnavailable(outcome.error.message);
    const { result } = outcome;
    if (typeof result !== 'string' || !WORD.test(result))
      throw new InvalidAnswer('a word of the state is not one word');
    const digits = result.slice(2).toLowerCase().padStart(64, '0');
    return ADDRESS_WORD.test(digits) && /[^0]/.test(digits) ? digits.slice(24) : undefined;
  });
};

/**
 * Code that calls `implementation()` of a contract and returns the address, or 0 if the call fails or returns less than
 * a word. Whatever the contract does, the endpoint answers with one word and no error.
 * memory[0] = selector | staticcall(gas, contract, 0, 4, 0, 32) | and(·, returndatasize > 31) | mul(·, and(memory[0],
 * 20 bytes))
 */
const codeToAsk = (contract: string): string =>
  `0x63${IMPLEMENTATION}60e01b600052602060006004600073${contract}5afa601f3d1116600051` +
  `73${'f'.repeat(40)}160260005260206000f3`;
