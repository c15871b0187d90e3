import { hash } from 'node:crypto';
import { checksumAddress } from '../../../../shared/chain/identifiers/address.ts';
import { ACCOUNT_PROXY_CODE } from './account-proxy-code.ts';

/** The contracts that create the accounts of a chain. */
export interface AccountChain {
  chainId: number;
  entryPoint: string;
  factory: string;
}

const SALT = '0'.repeat(64);
/** `initialize(address)` */
const INITIALIZE = 'c4d66de8';

/**
 * Returns the address of an account, whether it is deployed or not: `getAddress(owner, 0)` of the factory, in EIP-55 form.
 * CREATE2, EIP-1014.
 */
export const accountAddress = (factory: string, owner: string): string => {
  const initialization = INITIALIZE + word(digitsOf(owner));
  const length = (initialization.length / 2).toString(16);
  const initializationPadded = initialization.padEnd(Math.ceil(initialization.length / 64) * 64, '0');
  const proxy = [
    ACCOUNT_PROXY_CODE,
    word(implementationDigits(factory)),
    word('40'),
    word(length),
    initializationPadded,
  ].join('');
  return checksumAddress(lastAddress(`ff${digitsOf(factory)}${SALT}${keccak(proxy)}`));
};

/** Returns the address of the first implementation of a factory's accounts, in EIP-55 form. */
export const accountImplementation = (factory: string): string => checksumAddress(implementationDigits(factory));

/** The factory deployed the implementation in its constructor: CREATE with nonce 1, of the RLP of both. */
const implementationDigits = (factory: string): string => lastAddress(`d694${digitsOf(factory)}01`);

const digitsOf = (address: string): string => address.slice(2).toLowerCase();
const word = (digits: string): string => digits.padStart(64, '0');
const keccak = (hex: string): string => hash('keccak-256', Buffer.from(hex, 'hex'), 'hex');
const lastAddress = (hex: string): string => keccak(hex).slice(-40);
