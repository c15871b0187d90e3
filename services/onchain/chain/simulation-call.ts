import type { RpcCall } from '../../../shared/chain/client/answer-limits.ts';
import { IMPLEMENTATION_SLOT } from '../../../shared/chain/state/eip-1967.ts';
import { ACCOUNT_RUNTIME_CODE } from '../smart-accounts/domain/account-proxy-code.ts';
import { addressWord } from '../operations/domain/abi-encoding.ts';
import { encodeHandleOps, encodeSimulateHandleOp } from '../operations/domain/operation-encoding.ts';
import { accountImplementation } from '../smart-accounts/domain/smart-account.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import { contractCode } from './contracts.ts';
import type { SimulationRequest } from './operations-chain.ts';

export interface OperationsContracts {
  entryPoint: string;
  accountFactory: string;
}

/** The storage slot in which SimpleAccount 0.7.0 keeps its owner. */
const OWNER_SLOT = `0x${'0'.repeat(64)}`;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

type Override = Readonly<Record<string, unknown>>;

/** Returns the call that simulates one operation, with the code of EntryPointSimulations at the EntryPoint. */
export const simulationCall = (request: SimulationRequest, contracts: OperationsContracts): RpcCall => {
  const { operation, target = { address: ZERO_ADDRESS, data: '0x' } } = request;
  const data = encodeSimulateHandleOp(operation, target.address, target.data);
  return {
    method: 'eth_call',
    params: [
      { to: CLIPPER, data },
      'latest',
      { ...stateOverride(request, contracts), [CLIPPER]: { code: clipperCode(contracts.entryPoint) } },
    ],
  };
};

/** Merges the caller's override with ours. Keys are in lower case, because a node takes only one of two spellings. */
const stateOverride = (
  { asDeployed, stateOverride: theirs = {} }: SimulationRequest,
  { entryPoint, accountFactory }: OperationsContracts,
): Override => {
  const merged = new Map<string, Override>();
  const add = (address: string, override: Override): void => {
    const key = address.toLowerCase();
    const { stateDiff, ...before } = merged.get(key) ?? {};
    const slots = { ...Object(stateDiff), ...Object(override['stateDiff']) } as Override;
    merged.set(key, { ...before, ...override, ...(Object.keys(slots).length > 0 ? { stateDiff: slots } : {}) });
  };
  for (const [address, override] of Object.entries(theirs)) add(address, Object(override) as Override);
  add(entryPoint, { code: contractCode.EntryPointSimulations });
  if (asDeployed) {
    const { address, owner } = asDeployed;
    const stateDiff = {
      [IMPLEMENTATION_SLOT]: `0x${addressWord(accountImplementation(accountFactory))}`,
      [OWNER_SLOT]: `0x${addressWord(owner)}`,
    };
    add(address, { code: `0x${ACCOUNT_RUNTIME_CODE}`, stateDiff });
  }
  return Object.fromEntries(merged);
};

/** An address without code. */
const METER = '0x00000000000000000000000000000000616e6e61';
const CLIPPER = '0x00000000000000000000000000000000616e6e63';

/** A simulation returns no more bytes than this: a target may return megabytes, and the answer would be refused. */
export const SIMULATION_BYTES_MAX = 4_096;

/** CALL(GAS, entry point, 0, 0, CALLDATASIZE, 0, 0), with its own call data: CALLDATACOPY(0, 0, CALLDATASIZE). */
const passOn = (entryPoint: string): { copy: string; call: string } => ({
  copy: '366000600037',
  call: `60006000366000600073${entryPoint.slice(2).toLowerCase()}5af1`,
});

/** Returns code that calls the EntryPoint, and returns or reverts with at most so many bytes of its result. */
const clipperCode = (entryPoint: string): string => {
  const { copy, call } = passOn(entryPoint);
  const body = [
    copy,
    call,
    `3d61${SIMULATION_BYTES_MAX.toString(16)}`, // RETURNDATASIZE, most
    '81819010', // whether RETURNDATASIZE < most
    '9181189190910218', // most XOR (RETURNDATASIZE XOR most) * whether: the lesser of both
    '80600060003e', // RETURNDATACOPY(0, 0, it)
    '90', // SWAP1: success on top
  ].join('');
  const returnAt = body.length / 2 + 6;
  // If success is 1 goto return; REVERT(0, it); return: RETURN(0, it)
  return `0x${body}60${returnAt.toString(16)}576000fd5b6000f3`;
};

/**
 * Returns code that calls the EntryPoint with its own call data, and returns the gas of that call, or reverts with its result.
 * A state override puts the code at an address: as creation code a large bundle would be longer than EIP-3860 allows.
 * EXTCODESIZE first warms the address of the EntryPoint, as it is warm when it is the `to` of a transaction.
 */
const meterCode = (entryPoint: string): string => {
  const { copy, call } = passOn(entryPoint);
  const measure = [
    copy,
    `73${entryPoint.slice(2).toLowerCase()}3b50`, // EXTCODESIZE(entry point), POP
    '5a', // gas before
    call,
    '5a', // gas after
  ].join('');
  const failedAt = measure.length / 2 + 16;
  return [
    '0x',
    measure,
    '90', // SWAP1: success on top, then gas after, gas before
    `1560${failedAt.toString(16)}57`, // if it is 0 goto failed
    '9003600052', // SWAP1, SUB: before - after; MSTORE(0, it)
    '60206000f3', // RETURN(0, 32)
    '00', // never
    '5b3d600060003e', // failed: RETURNDATACOPY(0, 0, RETURNDATASIZE)
    '3d6000fd', // REVERT(0, RETURNDATASIZE)
  ].join('');
};

/** Returns the call that measures `handleOps` of a bundle, sent by its beneficiary. */
export const bundleCall = (
  operations: readonly UserOperation[],
  beneficiary: string,
  { entryPoint }: OperationsContracts,
): RpcCall => ({
  method: 'eth_call',
  params: [
    { from: beneficiary, to: METER, data: encodeHandleOps(operations, beneficiary) },
    'latest',
    { [METER]: { code: meterCode(entryPoint) } },
  ],
});
