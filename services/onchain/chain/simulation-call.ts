import type { RpcCall } from '../../../shared/chain/answer-limits.ts';
import { IMPLEMENTATION_SLOT } from '../../../shared/chain/eip-1967.ts';
import { ACCOUNT_RUNTIME_CODE } from '../domain/account-proxy-code.ts';
import { encodeHandleOps, encodeSimulateHandleOp } from '../domain/operation-encoding.ts';
import { accountImplementation } from '../domain/smart-account.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import { contractCode } from '../prepare-chain/contracts.ts';
import type { SimulationRequest } from './operations-chain.ts';

export interface OperationsContracts {
  entryPoint: string;
  accountFactory: string;
}

/** Where SimpleAccount 0.7.0 keeps its owner. */
const OWNER_SLOT = `0x${'0'.repeat(64)}`;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

type Override = Readonly<Record<string, unknown>>;

const word = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

/** The call that simulates one operation, with EntryPointSimulations in place of the entry point. */
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

/** The caller's override, with ours: what both name is merged. Keys in lower case, or a node would take one of two. */
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
    const stateDiff = { [IMPLEMENTATION_SLOT]: word(accountImplementation(accountFactory)), [OWNER_SLOT]: word(owner) };
    add(address, { code: `0x${ACCOUNT_RUNTIME_CODE}`, stateDiff });
  }
  return Object.fromEntries(merged);
};

/** Where nobody's code is. */
const METER = '0x00000000000000000000000000000000616e6e61';
const CLIPPER = '0x00000000000000000000000000000000616e6e63';

/** The most that is returned of a simulation: a target may return megabytes, and the answer would be too long to take. */
export const SIMULATION_BYTES_MAX = 4_096;

/** CALL(GAS, entry point, 0, 0, CALLDATASIZE, 0, 0), with what it was called with: CALLDATACOPY(0, 0, CALLDATASIZE). */
const passOn = (entryPoint: string): { copy: string; call: string } => ({
  copy: '366000600037',
  call: `60006000366000600073${entryPoint.slice(2).toLowerCase()}5af1`,
});

/** Code that calls the entry point, and returns, or reverts with, no more than so much of what it did. */
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
 * Code that calls the entry point with what it was called with, and returns the gas that this took, or reverts as it did.
 * It is put at an address for the one call: as code of a creation a large bundle would be longer than EIP-3860 allows.
 * Asking for the size of the entry point's code first warms its address, as being the `to` of a transaction does.
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

/** The call that measures `handleOps` of a bundle, sent by the one whom it pays. */
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
