/** Code of small contracts, written by hand, with the meaning of the bytes beside them. */

const byte = (value: number): string => value.toString(16).padStart(2, '0');

/** Reverts with these bytes, which follow the code. */
export const reverts = (data: string): string => {
  const length = byte((data.length - 2) / 2);
  // PUSH1 length, DUP1, PUSH1 11, PUSH1 0, CODECOPY(0, 11, length), PUSH1 0, REVERT(0, length)
  return `0x60${length}80600b6000396000fd${data.slice(2)}`;
};

/** Does nothing without data, until a call with data: afterwards it reverts with these bytes, which follow the code. */
export const revertsOnceCalledWithData = (data: string): string => {
  const length = byte((data.length - 2) / 2);
  // CALLDATASIZE, PUSH1 11, JUMPI, SLOAD(0), PUSH1 18, JUMPI, STOP; 11: JUMPDEST, SSTORE(0, 1), STOP;
  // 18: JUMPDEST, PUSH1 length, DUP1, PUSH1 30, PUSH1 0, CODECOPY(0, 30, length), PUSH1 0, REVERT(0, length)
  return `0x36600b57600054601257005b6001600055005b60${length}80601e6000396000fd${data.slice(2)}`;
};

/** Returns these words. */
export const returns = (...words: readonly bigint[]): string => {
  // For each: PUSH32 word, PUSH1 place, MSTORE. Then PUSH1 length, PUSH1 0, RETURN.
  const stores = words.map((word, at) => `7f${word.toString(16).padStart(64, '0')}60${byte(32 * at)}52`);
  return `0x${stores.join('')}60${byte(32 * words.length)}6000f3`;
};

/** Writes 1 into its last slots first, so that the first slot tells whether all are written. */
export const writes = (slots: number): string =>
  // For each: PUSH1 1, PUSH1 slot, SSTORE. Then STOP.
  `0x${Array.from({ length: slots }, (_, at) => `600160${byte(slots - 1 - at)}55`).join('')}00`;

/** Calls without value and data, with all gas but 1/64: CALL(GAS, address, 0, 0, 0, 0, 0). */
const call = (address: string): string => `6000600060006000600073${address.slice(2).toLowerCase()}5af1`;

/** Calls another contract, and reverts if that one does. */
export const passesOn = (address: string): string =>
  // PUSH1 40, JUMPI if it succeeded, else PUSH1 0, DUP1, REVERT; 40: JUMPDEST, STOP
  `0x${call(address)}602857600080fd5b00`;

/** Calls another contract, and ignores its revert. */
export const caught = (address: string): string => `0x${call(address)}00`;

/** Reverts unless more gas than this is left. */
export const checksGas = (gas: number): string =>
  // GAS, PUSH3 gas, LT(gas, GAS), PUSH1 13, JUMPI, else PUSH1 0, DUP1, REVERT; 13: JUMPDEST, STOP
  `0x5a62${gas.toString(16).padStart(6, '0')}10600d57600080fd5b00`;

/** Loops until the gas is used up: JUMPDEST, PUSH1 0, JUMP. */
export const burns = '0x5b600056';

/** Uses about this much gas in a loop of 26 gas: PUSH3 n; 4: JUMPDEST, PUSH1 1, SWAP1, SUB, DUP1, PUSH1 4, JUMPI; STOP. */
export const burnsGas = (gas: number): string =>
  `0x62${Math.floor(gas / 26)
    .toString(16)
    .padStart(6, '0')}5b600190038060045700`;

/** The revert data of Solidity's `revert('no')`. */
export const SAYS_NO = `0x08c379a0${'20'.padStart(64, '0')}${'2'.padStart(64, '0')}${'6e6f'.padEnd(64, '0')}`;
