import type { RpcCall } from '../../../shared/chain/client/answer-limits.ts';
import type { CallOutcome } from '../../../shared/chain/client/endpoints/json-rpc-endpoint.ts';
import { addressWord, bytesTail, digitsOf, tuple, word } from '../operations/domain/abi-encoding.ts';
import type { LayerBelow } from '../operations/domain/fork-rules.ts';

/** `GasPriceOracle`, a predeploy of every chain of the OP Stack. */
const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000F';
/** `getL1Fee(bytes)`: wei */
const GET_L1_FEE = '0x49948e0e';
/** `NodeInterface` of Arbitrum, for which the nodes answer although there is no code at its address. */
const NODE_INTERFACE = '0x00000000000000000000000000000000000000C8';
/** `gasEstimateL1Component(address,bool,bytes)`: gas, and two prices */
const GAS_ESTIMATE_L1_COMPONENT = '0x77d488a2';
const WORD_DIGITS = 64;

/** The fee of a rollup for writing the data of a transaction to the layer below. */
export interface DataFee {
  /** Arbitrum: charged as gas of the transaction itself. */
  gas: bigint;
  /** OP Stack: taken from the sender's balance, in addition to the gas. */
  wei: bigint;
}
export const NO_DATA_FEE: DataFee = { gas: 0n, wei: 0n };

const ORACLES: Record<LayerBelow, { ask: (data: string, to: string) => RpcCall; words: number }> = {
  'op-stack': { ask: (data) => call(GAS_PRICE_ORACLE, GET_L1_FEE + tuple(bytes(data))), words: 1 },
  arbitrum: {
    ask: (data, to) => call(NODE_INTERFACE, GAS_ESTIMATE_L1_COMPONENT + tuple(addressWord(to), word(0), bytes(data))),
    words: 3,
  },
};

const bytes = (data: string) => ({ tail: bytesTail(digitsOf(data)) });
const call = (to: string, data: string): RpcCall => ({ method: 'eth_call', params: [{ to, data }, 'latest'] });
const KINDS = Object.keys(ORACLES) as LayerBelow[];

/** Ask each oracle for the fee of little data: an oracle that does not exist answers nothing. */
export const LAYER_PROBES: readonly RpcCall[] = KINDS.map((kind) => ORACLES[kind].ask('0xff', NODE_INTERFACE));

/** @param outcomes of `LAYER_PROBES`. @returns the kind of rollup whose oracle answers; `undefined` on any other chain */
export const layerShownBy = (outcomes: readonly CallOutcome[]): LayerBelow | undefined =>
  KINDS.find((kind, at) => wordsOf(kind, outcomes[at]) !== undefined);

/** @param to the contract that is called with `data` */
export const dataFeeCall = (kind: LayerBelow, data: string, to: string): RpcCall => ORACLES[kind].ask(data, to);

/** Returns `undefined` if the oracle's answer does not have its form. */
export const readDataFee = (kind: LayerBelow, outcome: CallOutcome | undefined): DataFee | undefined => {
  const [fee] = wordsOf(kind, outcome) ?? [];
  if (fee === undefined) return undefined;
  return kind === 'arbitrum' ? { gas: fee, wei: 0n } : { gas: 0n, wei: fee };
};

const wordsOf = (kind: LayerBelow, outcome: CallOutcome | undefined): bigint[] | undefined => {
  const result = outcome && 'result' in outcome ? String(outcome.result) : '';
  const count = ORACLES[kind].words;
  if (!/^0x[0-9a-f]*$/i.test(result) || result.length !== 2 + count * WORD_DIGITS) return undefined;
  return Array.from({ length: count }, (_, at) =>
    BigInt(`0x${result.slice(2 + at * WORD_DIGITS, 2 + (at + 1) * WORD_DIGITS)}`),
  );
};
