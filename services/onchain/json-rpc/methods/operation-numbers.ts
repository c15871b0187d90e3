import { z } from 'zod';
import type { DraftOperation, StateOverride } from '../../../../schemas/rpc/rpc-operation.ts';
import { readAddress } from '../../../../shared/chain/identifiers/address.ts';
import { plainText } from '../../../../shared/errors/plain-text.ts';
import { safeParse } from '../../../../shared/primitives/text/safe-parse.ts';
import { STUB_SIGNATURE } from '../../operations/domain/operation-hash.ts';
import { quantityOf, type UserOperation } from '../../operations/domain/user-operation.ts';
import { invalidParams } from './rpc-error.ts';

/** @throws RpcError if the checksum is wrong */
export const addressOf = (member: string, text: string): string => {
  const address = readAddress(text);
  if (address === undefined) throw invalidParams(`${member}: does not have its EIP-55 checksum`);
  return address;
};

const amountOf = (text: string | null | undefined): bigint => BigInt(text ?? 0);

/** Reads an operation: missing limits and fees are 0, a missing signature is a stub. @throws RpcError */
export const readOperation = (given: DraftOperation): UserOperation => {
  const { factory, factoryData, paymaster, paymasterData } = given;
  requireWhoseDataItIs('factory', factory, factoryData);
  requireWhoseDataItIs('paymaster', paymaster, paymasterData);
  return {
    sender: addressOf('userOperation.sender', given.sender),
    nonce: BigInt(given.nonce),
    factory:
      factory == null ? undefined : { address: addressOf('userOperation.factory', factory), data: factoryData ?? '0x' },
    callData: given.callData,
    callGasLimit: amountOf(given.callGasLimit),
    verificationGasLimit: amountOf(given.verificationGasLimit),
    preVerificationGas: amountOf(given.preVerificationGas),
    maxFeePerGas: amountOf(given.maxFeePerGas),
    maxPriorityFeePerGas: amountOf(given.maxPriorityFeePerGas),
    paymaster:
      paymaster == null
        ? undefined
        : {
            address: addressOf('userOperation.paymaster', paymaster),
            verificationGasLimit: amountOf(given.paymasterVerificationGasLimit),
            postOpGasLimit: amountOf(given.paymasterPostOpGasLimit),
            data: paymasterData ?? '0x',
          },
    signature: given.signature ?? STUB_SIGNATURE,
  };
};

type Given = string | null | undefined;
/** Data without a contract would be left out, which would change the operation. */
const requireWhoseDataItIs = (member: 'factory' | 'paymaster', address: Given, data: Given): void => {
  if (address == null && (data ?? '0x') !== '0x')
    throw invalidParams(`userOperation.${member}: is missing, and ${member}Data is there`);
};

/** Reads a state override set, with amounts in the form that every node takes. @throws RpcError */
export const readStateOverride = (given: StateOverride): StateOverride => {
  const read = new Map<string, StateOverride[string]>();
  for (const [text, { balance, nonce, ...rest }] of Object.entries(given)) {
    const address = addressOf(`stateOverride.${text}`, text);
    if (read.has(address)) throw invalidParams(`stateOverride.${text}: is there twice`);
    read.set(address, {
      ...rest,
      ...(balance !== undefined && { balance: quantityOf(BigInt(balance)) }),
      ...(nonce !== undefined && { nonce: quantityOf(BigInt(nonce)) }),
    });
  }
  return Object.fromEntries(read);
};

/** Of a key the schema that it has to fit says why. */
const sentenceOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_key' ? `its name ${issue.issues[0]?.message ?? 'does not fit'}` : issue.message;

/** Reads params by the schema of each. @throws RpcError */
export const readParams = <Shape extends Record<string, z.ZodType>>(
  shape: Shape,
  params: readonly unknown[],
): { [Param in keyof Shape]: z.output<Shape[Param]> } => {
  const names = Object.keys(shape);
  if (params.length > names.length) throw invalidParams(`there are ${String(names.length)} params at most`);
  const parsed = safeParse(z.object(shape), Object.fromEntries(params.map((param, at) => [names[at], param])), {
    error: plainText,
  });
  if (parsed.success) return parsed.data as { [Param in keyof Shape]: z.output<Shape[Param]> };
  const [issue] = parsed.error.issues;
  throw invalidParams(`${issue?.path.join('.') ?? ''}: ${issue ? sentenceOf(issue) : 'does not fit'}`);
};
