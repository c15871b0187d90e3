import { hexlify, randomBytes, Wallet } from 'ethers';

/** Without a mnemonic, from which ethers takes 10 ms to derive a key. */
export const randomWallet = (): Wallet => new Wallet(hexlify(randomBytes(32)));
