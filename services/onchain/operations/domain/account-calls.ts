import type { AccountCall } from '../../../../shared/chain/identifiers/account-call.ts';
import { addressWord, bytesTail, digitsOf, tuple, word } from './abi-encoding.ts';

/** `execute(address,uint256,bytes)` */
const EXECUTE = '0xb61d27f6';
/** `createAccount(address,uint256)` */
const CREATE_ACCOUNT = '0x5fbfb9cf';

/** Returns the call data of a SimpleAccount that makes one call. */
export const executeCall = ({ to, value, data }: AccountCall): string =>
  EXECUTE + tuple(addressWord(to), word(value), { tail: bytesTail(digitsOf(data)) });

/** Returns the call data of the factory that deploys the account of an owner, with salt 0. */
export const createAccountData = (owner: string): string => CREATE_ACCOUNT + tuple(addressWord(owner), word(0));
