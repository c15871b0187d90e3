import { hexlify, randomBytes, Wallet } from 'ethers';

/** Without a phrase of words, from which ethers takes 10 ms to make a key. */
export const randomWallet = (): Wallet => new Wallet(hexlify(randomBytes(32)));
