import type { RpcCall } from '../../../shared/chain/client/answer-limits.ts';
import type { CallOutcome } from '../../../shared/chain/client/endpoints/json-rpc-endpoint.ts';
import { refusalOf } from '../../../shared/chain/client/refusals/rpc-refusals.ts';
import { NoMethod, saysNoMethod } from '../../../shared/chain/client/endpoints/no-answer.ts';
import { dataGas, FORKS, type ForkRules } from '../operations/domain/fork-rules.ts';
import { LAYER_PROBES, layerShownBy } from './data-fees.ts';

/** An address without code. */
const NOBODY = '0x00000000000000000000000000000000616e6e64';
const DATA = `0x${'ff'.repeat(1_000)}`;
/** CLZ(1) (EIP-7939), MSTORE(0, it), RETURN(0, 32): Osaka's only opcode. */
const COUNT_LEADING_ZEROS = '0x60011e60005260206000f3';
/** How geth, Erigon, reth, anvil, Nethermind and Besu report an unknown opcode. */
const NO_OPCODE = /opcode|bad ?instruction|invalid.?operation|not ?activated/i;

const INVALID_PARAMS = -32_602;
/** How nodes refuse a third parameter of `eth_call`. */
const NO_OVERRIDES = /too many arguments|at most 2|state ?overrides?\b|invalid (argument|param)/i;

/** Ask for the gas of a transaction of 1,000 bytes, and whether the newest opcode is known. */
const PROBES_OF_FORK: readonly RpcCall[] = [
  { method: 'eth_estimateGas', params: [{ from: NOBODY, to: NOBODY, data: DATA }] },
  { method: 'eth_call', params: [{ to: NOBODY }, 'latest', { [NOBODY]: { code: COUNT_LEADING_ZEROS } }] },
];

export const FORK_PROBES: readonly RpcCall[] = [...PROBES_OF_FORK, ...LAYER_PROBES];

/**
 * Returns the rules that a node shows. If it shows none, the newest rules apply: they refuse more, and nothing is lost.
 * @throws NoMethod if the node refuses or ignores state overrides, without which nothing can be simulated
 */
export const rulesShownBy = ([estimate, opcode, ...oracles]: readonly CallOutcome[]): ForkRules => {
  const refusal = refusalOfOverrides(opcode);
  if (refusal !== undefined) throw new NoMethod('eth_call with state overrides', refusal);
  const layerBelow = layerShownBy(oracles);
  return {
    floorTokenGas: hasNoFloor(estimate) ? FORKS.london.floorTokenGas : FORKS.prague.floorTokenGas,
    transactionGasMax: isUnknown(opcode) ? FORKS.prague.transactionGasMax : FORKS.osaka.transactionGasMax,
    ...(layerBelow && { layerBelow }),
  };
};

/** The estimate may include the fee of a layer below. It is then above the floor, and counts as a floor. */
const hasNoFloor = (estimate: CallOutcome | undefined): boolean =>
  estimate !== undefined &&
  'result' in estimate &&
  /^0x[0-9a-f]+$/i.test(String(estimate.result)) &&
  BigInt(String(estimate.result)) < dataGas(DATA, FORKS.prague).floor;

const refusalOfOverrides = (call: CallOutcome | undefined): string | undefined => {
  if (!call) return undefined;
  if ('result' in call) return call.result === '0x' ? 'it ignores the state overrides' : undefined;
  const { code, message } = call.error;
  if (NO_OPCODE.test(message) || refusalOf(message, { code }).kind !== 'other') return undefined;
  return code === INVALID_PARAMS || saysNoMethod(call.error) || NO_OVERRIDES.test(message) ? message : undefined;
};

const isUnknown = (call: CallOutcome | undefined): boolean =>
  call !== undefined && 'error' in call && NO_OPCODE.test(call.error.message);
