import { addressOfKey } from '../../../../shared/keys/signatures/secp256k1-keys.ts';
import { accountImplementation } from '../../smart-accounts/domain/smart-account.ts';

/** Returns the key whose bytes all have this value. */
const keyOf = (byte: number): { privateKey: Buffer; address: string } => {
  const privateKey = Buffer.alloc(32, byte);
  return { privateKey, address: addressOfKey(privateKey) };
};
export const OWNERS = [0x40, 0x41, 0x42, 0x43, 0x44].map(keyOf);
export const PAYMASTER = keyOf(2);
/** A contract that refuses every call. */
export const REFUSING = '0x0000000000000000000000000000000000002001';
export const EXECUTORS = [1, 3, 5].map(keyOf);
const FACTORY = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
export const CONTRACTS = {
  chainId: 2484,
  entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
  factory: FACTORY,
  implementation: accountImplementation(FACTORY),
  paymaster: { address: '0x0000000000000000000000000000000000000002', signer: PAYMASTER.address },
  refusing: new Map([[REFUSING, '0xdeadbeef']]),
};
export const OWN_CONTRACTS = { accountFactory: FACTORY, paymaster: CONTRACTS.paymaster.address };
